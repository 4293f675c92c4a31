#include "app/start/chat_python.hpp"

#include <cstdlib>

namespace ziggurat::app {

data::TemplateEngine template_engine() {
    data::TemplateEngine engine;
    const char* const python = std::getenv("ZIGGURAT_PYTHON");
    if (python != nullptr && *python != '\0') {
        engine.pythons = {python};
    }
    return engine;
}

}  // namespace ziggurat::app
