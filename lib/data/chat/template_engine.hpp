/// Settings of the helper process that renders chat templates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ziggurat::data {

/// Python and its limits for one conversation.
struct TemplateEngine {
    /// Programs, searched on the PATH; the first one that has Jinja is used. Debian's Jinja is for Debian's
    /// Python, which is not always the first on the PATH.
    std::vector<std::string> pythons = {"python3", "/usr/bin/python3"};
    double seconds = 5;  ///< processor time
    /// Time until the process is killed, because Python cannot interrupt some operations.
    double max_wait_seconds = 60;
    std::int64_t max_characters = std::int64_t{16} << 20;   ///< of the rendered text
    std::int64_t max_memory_bytes = std::int64_t{1} << 30;  ///< address space of the process
};

/// Returns the engine with the Python that ZIGGURAT_PYTHON names in the environment, else `python3`.
TemplateEngine template_engine();

/// Method by which the spans of a template are found.
enum class SpanMethod {
    generation_blocks,  ///< `{% generation %}` blocks of the template
    prefix_rendering    ///< texts of the beginnings of the conversation
};

}  // namespace ziggurat::data
