#include "base/error.hpp"

namespace ziggurat {

Error::Error(ErrorKind kind, const std::string& message, std::source_location where)
    : std::runtime_error{message}, kind_{kind}, where_{where} {}

}  // namespace ziggurat
