#include "layout/families/role.hpp"

#include "base/contract.hpp"

namespace ziggurat::layout {

Role gradient_of(Role role) {
    switch (role) {
        case Role::weight:
            return Role::d_weight;
        case Role::bias:
            return Role::d_bias;
        case Role::gain:
            return Role::d_gain;
        case Role::table:
            return Role::d_table;
        case Role::position_table:
            return Role::d_position_table;
        case Role::lora_a:
            return Role::d_lora_a;
        case Role::lora_b:
            return Role::d_lora_b;
        case Role::input:
        case Role::output:
        case Role::branch:
        case Role::sum:
        case Role::mean:
        case Role::inv_std:
        case Role::lse:
        case Role::square_sums:
        case Role::activated:
        case Role::activation_input:
        case Role::addend:
        case Role::lora_inner:
        case Role::d_weight:
        case Role::d_bias:
        case Role::d_gain:
        case Role::d_table:
        case Role::d_position_table:
        case Role::d_lora_a:
        case Role::d_lora_b:
        case Role::d_output:
        case Role::d_input:
        case Role::d_input_sum:
        case Role::d_branch:
        case Role::d_square_sums:
        case Role::d_lora_inner:
        case Role::d_addend:
        case Role::heads_by_rank:
        case Role::rows_by_rank:
        case Role::kv:
        case Role::merged:
        case Role::d_q:
        case Role::d_kv:
        case Role::tokens:
        case Role::targets:
        case Role::positions:
        case Role::document_starts:
        case Role::window_starts:
        case Role::mask:
        case Role::samples:
        case Role::losses:
        case Role::pairs:
        case Role::references:
        case Role::token_weights:
        case Role::pair_results:
        case Role::cache_sequences:
        case Role::page_table:
        case Role::window_page_table:
        case Role::kv_cache:
        case Role::rotations:
        case Role::statistics:
        case Role::watched:
        case Role::packed_forward:
        case Role::packed_backward:
        case Role::workspace:
        case Role::gradient:
        case Role::master:
        case Role::first_moment:
        case Role::second_moment:
        case Role::average:
        case Role::parameters:
        case Role::passing:
        case Role::undo:
        case Role::step_inputs:
        case Role::update_inputs:
        case Role::exact_sums:
        case Role::update_sums:
            break;
    }
    ZG_EXPECTS(!"only parameters have gradients of their own");
    return role;
}

}  // namespace ziggurat::layout
