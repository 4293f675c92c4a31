/// Python that renders chat templates.
#pragma once

#include "data/chat/template_engine.hpp"

namespace ziggurat::app {

/// Returns the engine with the Python that ZIGGURAT_PYTHON names in the environment, else `python3`.
data::TemplateEngine template_engine();

}  // namespace ziggurat::app
