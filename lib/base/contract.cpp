#include "base/contract.hpp"

#include <string>

#include "base/error.hpp"

namespace ziggurat {

void fail_contract(const char* kind, const char* condition, std::source_location where) {
    throw Error{ErrorKind::internal,
                std::string{"broken "} + kind + " '" + condition + "' at " + where.file_name() + ":" +
                    std::to_string(where.line()) +
                    " (a bug in ziggurat). Please report it with this line and the deck.",
                where};
}

}  // namespace ziggurat
