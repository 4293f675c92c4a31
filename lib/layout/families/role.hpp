/// Roles of operands: the function of each operand in an op, its phase and its kernel.
#pragma once

#include <stdexcept>

namespace ziggurat::layout {

enum class Role {
    // values of a phase
    input,
    output,
    branch,            ///< of a residual sum: the summand that is added to the stream
    sum,               ///< the stream after a residual sum; for gradients: the accumulator
    mean,              ///< of a norm's rows
    inv_std,           ///< of a norm's rows
    lse,               ///< of attention: log-sum-exp of a query's scores
    square_sums,       ///< of a token: of its queries and of its keys
    activated,         ///< output of an activation that is fused into a product or into its own gradient
    activation_input,  ///< input of an activation whose gradient is fused into the following product
    addend,            ///< summand of a residual sum that is fused into the product of its branch
    // parameters of a phase
    weight,
    bias,
    gain,
    table,
    position_table,
    lora_a,  ///< adapter matrix A: multiplies the input
    lora_b,  ///< adapter matrix B: multiplies the result of A
    // adapters on a grid of tensor ranks
    lora_inner,  ///< product of the input and all A
    // gradients of parameters
    d_weight,
    d_bias,
    d_gain,
    d_table,
    d_position_table,
    d_lora_a,
    d_lora_b,
    // gradients of values
    d_output,
    d_input,
    d_input_sum,  ///< d_input as a sum over tiles, in fp32
    d_branch,
    d_square_sums,
    d_lora_inner,
    d_addend,  ///< a summand of d_input, from an earlier reader of the value
    // attention with context ranks
    heads_by_rank,  ///< [context ranks, rows, heads of a part]: before or after an all-to-all
    rows_by_rank,   ///< the same, of the sequences whose rows the ranks have
    kv,             ///< ring: keys and values of a round
    merged,         ///< ring: output for the keys so far, in fp32
    d_q,
    d_kv,
    // a micro-batch
    tokens,
    targets,
    positions,
    document_starts,
    window_starts,  ///< the first key of each query in layers with a window
    mask,
    samples,
    losses,
    pairs,          ///< first rows of the answers of each pair (kernels/preference.hpp)
    references,     ///< log-probabilities of the reference model, of both answers of each pair
    token_weights,  ///< factor of each token's gradient
    pair_results,   ///< loss and rewards of each pair
    cache_sequences,
    page_table,
    window_page_table,
    kv_cache,    ///< keys and values of earlier tokens; attention adds those of its own
    rotations,   ///< cosines and sines of all positions
    statistics,  ///< statistics of the logits' columns, for the loss
    watched,     ///< the logits of one token, for inspection
    // scratch
    packed_forward,
    packed_backward,
    workspace,
    // state
    gradient,
    master,
    first_moment,
    second_moment,
    average,
    parameters,
    passing,  ///< state that a save copies while it is updated
    undo,     ///< master weights and moments before an update that can be undone
    // the step
    step_inputs,
    update_inputs,
    exact_sums,
    update_sums,  ///< exact sums of squares of weights and of their changes
};

/// Returns the name as printed and written to JSON.
constexpr const char* to_string(Role role) {
    switch (role) {
        case Role::input:
            return "input";
        case Role::output:
            return "output";
        case Role::branch:
            return "branch";
        case Role::sum:
            return "sum";
        case Role::mean:
            return "mean";
        case Role::inv_std:
            return "inv_std";
        case Role::lse:
            return "lse";
        case Role::square_sums:
            return "square_sums";
        case Role::activated:
            return "activated";
        case Role::activation_input:
            return "activation_input";
        case Role::addend:
            return "addend";
        case Role::weight:
            return "weight";
        case Role::bias:
            return "bias";
        case Role::gain:
            return "gain";
        case Role::table:
            return "table";
        case Role::position_table:
            return "position_table";
        case Role::lora_a:
            return "lora_a";
        case Role::lora_b:
            return "lora_b";
        case Role::lora_inner:
            return "lora_inner";
        case Role::d_weight:
            return "d_weight";
        case Role::d_bias:
            return "d_bias";
        case Role::d_gain:
            return "d_gain";
        case Role::d_table:
            return "d_table";
        case Role::d_position_table:
            return "d_position_table";
        case Role::d_lora_a:
            return "d_lora_a";
        case Role::d_lora_b:
            return "d_lora_b";
        case Role::d_output:
            return "d_output";
        case Role::d_input:
            return "d_input";
        case Role::d_input_sum:
            return "d_input_sum";
        case Role::d_branch:
            return "d_branch";
        case Role::d_square_sums:
            return "d_square_sums";
        case Role::d_lora_inner:
            return "d_lora_inner";
        case Role::d_addend:
            return "d_addend";
        case Role::heads_by_rank:
            return "heads_by_rank";
        case Role::rows_by_rank:
            return "rows_by_rank";
        case Role::kv:
            return "kv";
        case Role::merged:
            return "merged";
        case Role::d_q:
            return "d_q";
        case Role::d_kv:
            return "d_kv";
        case Role::tokens:
            return "tokens";
        case Role::targets:
            return "targets";
        case Role::positions:
            return "positions";
        case Role::document_starts:
            return "document_starts";
        case Role::window_starts:
            return "window_starts";
        case Role::mask:
            return "mask";
        case Role::samples:
            return "samples";
        case Role::losses:
            return "losses";
        case Role::pairs:
            return "pairs";
        case Role::references:
            return "references";
        case Role::token_weights:
            return "token_weights";
        case Role::pair_results:
            return "pair_results";
        case Role::cache_sequences:
            return "cache_sequences";
        case Role::page_table:
            return "page_table";
        case Role::window_page_table:
            return "window_page_table";
        case Role::kv_cache:
            return "kv_cache";
        case Role::rotations:
            return "rotations";
        case Role::statistics:
            return "statistics";
        case Role::watched:
            return "watched";
        case Role::packed_forward:
            return "packed_forward";
        case Role::packed_backward:
            return "packed_backward";
        case Role::workspace:
            return "workspace";
        case Role::gradient:
            return "gradient";
        case Role::master:
            return "master";
        case Role::first_moment:
            return "first_moment";
        case Role::second_moment:
            return "second_moment";
        case Role::average:
            return "average";
        case Role::parameters:
            return "parameters";
        case Role::passing:
            return "passing";
        case Role::undo:
            return "undo";
        case Role::step_inputs:
            return "step_inputs";
        case Role::update_inputs:
            return "update_inputs";
        case Role::exact_sums:
            return "exact_sums";
        case Role::update_sums:
            return "update_sums";
    }
    throw std::invalid_argument{"no Role"};
}

/// Returns the role of a parameter's gradient: d_weight for weight.
///
/// \pre role is that of a parameter
Role gradient_of(Role role);

/// Returns true if a parameter gradient of this role is computed from the product's input.
///
/// The gradient of a bias is not.
constexpr bool needs_input(Role role) {
    return role == Role::weight || role == Role::lora_a || role == Role::lora_b;
}

}  // namespace ziggurat::layout
