/// The text of a home, as a deck writes it.
#pragma once

#include <string>

#include "spec/run_spec.hpp"

namespace ziggurat::spec {

/// `host`, or `{device: 12.5%, host: rest}`: shares in steps of a millionth, the last of them as `rest`.
std::string write_home(const Home& home);

}  // namespace ziggurat::spec
