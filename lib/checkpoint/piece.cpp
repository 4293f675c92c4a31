#include "checkpoint/piece.hpp"

namespace ziggurat::checkpoint {

const char* to_string(Kind kind) {
    switch (kind) {
        case Kind::weights:
            return "weights";
        case Kind::first_moment:
            return "first_moment";
        case Kind::second_moment:
            return "second_moment";
    }
    return "";
}

}  // namespace ziggurat::checkpoint
