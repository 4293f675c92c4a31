#include "schedule/op_kind.hpp"

namespace ziggurat::schedule {

bool is_collective(OpKind kind) {
    switch (kind) {
        case OpKind::all_gather:
        case OpKind::reduce_scatter:
        case OpKind::all_reduce:
        case OpKind::send:
        case OpKind::receive:
            return true;
        case OpKind::compute:
        case OpKind::loss:
        case OpKind::fill:
        case OpKind::add:
        case OpKind::update:
        case OpKind::norm:
        case OpKind::step_end:
        case OpKind::copy:
        case OpKind::read:
        case OpKind::write:
            return false;
    }
    return false;
}

}  // namespace ziggurat::schedule
