#include "base/text/message.hpp"

#include "base/text/printable.hpp"

namespace ziggurat {

const char* name_of(Severity severity) {
    switch (severity) {
        case Severity::error:
            return "error";
        case Severity::warning:
            return "warning";
        case Severity::note:
            break;
    }
    return "note";
}

std::string message(Severity severity, std::string_view text) {
    return std::string{"ziggurat: "} + name_of(severity) + ": " + printable(text, Newlines::kept);
}

}  // namespace ziggurat
