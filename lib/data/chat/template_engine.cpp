#include "data/chat/template_engine.hpp"

#include <cstdlib>

namespace ziggurat::data {

TemplateEngine template_engine() {
    TemplateEngine engine;
    const char* const python = std::getenv("ZIGGURAT_PYTHON");
    if (python != nullptr && *python != '\0') {
        engine.pythons = {python};
    }
    return engine;
}

}  // namespace ziggurat::data
