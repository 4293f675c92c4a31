/// Rules of model.rope_scaling: what each kind needs.
#include <fmt/format.h>

#include <array>
#include <string>

#include "deck/rules/rules.hpp"
#include "deck/schema/family_texts.hpp"
#include "layout/families/family_descriptor.hpp"
#include "layout/families/rope_scalings.hpp"

namespace ziggurat::deck {
namespace {

using Kind = spec::RopeScalingKind;

void families_scale_as_published(const Resolution& at) {
    const auto& family = layout::family_of(at.run.model);
    const auto kind = at.run.model.rope_scaling.kind;
    if (family.scales_by(kind)) {
        return;
    }
    std::string kinds = layout::name_of(Kind::none);
    for (const auto each : family.published.scalings) {
        kinds += fmt::format(" or {}", layout::name_of(each));
    }
    at.found.error(
        at.values.location("model.rope_scaling.kind"),
        fmt::format("model.rope_scaling.kind = {} is given for {}", layout::name_of(kind), family.name),
        fmt::format("kinds of its published models: {}", kinds),
        fmt::format("Use one of these, or family {}.", families_or([](const auto& f) {
                        return f.has_rotary_positions() && f.published.scalings.empty();
                    })));
}

void parts_have_an_order(const Resolution& at) {
    const auto& scaling = at.run.model.rope_scaling;
    if (scaling.kind == Kind::by_parts && scaling.low_freq_factor >= scaling.high_freq_factor) {
        at.found.error(
            at.values.location("model.rope_scaling.low_freq_factor"),
            fmt::format("model.rope_scaling.low_freq_factor = {} is not below high_freq_factor = {}",
                        scaling.low_freq_factor, scaling.high_freq_factor),
            "low frequencies are scaled, high ones are not, and medium ones in part",
            "Use 1 and 4, or the values of the published model.");
    }
}

/// Checks keys whose default is not a sensible value for the kind.
void scaling_has_its_lengths(const Resolution& at) {
    const auto kind = at.run.model.rope_scaling.kind;
    const struct {
        const char* key;
        bool is_needed;
        const char* reason;
    } keys[] = {{"factor", kind == Kind::yarn || kind == Kind::longrope || kind == Kind::dynamic,
                 "it is the ratio of the longest sequences to those of pretraining"},
                {"original_max_seq", kind == Kind::yarn || kind == Kind::longrope,
                 "the angles depend on the sequence length of pretraining"}};
    for (const auto& [key, is_needed, reason] : keys) {
        const auto path = fmt::format("model.rope_scaling.{}", key);
        const DeckValue* value = at.values.find(path);
        if (is_needed && (value == nullptr || value->origin.kind == OriginKind::fallback)) {
            at.found.error(at.values.location("model.rope_scaling.kind"),
                           fmt::format("model.rope_scaling.kind = {} without {}", layout::name_of(kind), key),
                           reason, fmt::format("Set {} to the value of the published model.", path));
        }
    }
}

void yarn_has_a_range_of_pairs(const Resolution& at) {
    const auto& scaling = at.run.model.rope_scaling;
    if (scaling.kind != Kind::yarn) {
        return;
    }
    if (scaling.beta_fast < scaling.beta_slow) {
        at.found.error(
            at.values.location("model.rope_scaling.beta_fast"),
            fmt::format("model.rope_scaling.beta_fast = {} is below beta_slow = {}", scaling.beta_fast,
                        scaling.beta_slow),
            "angles of pairs that turn fast are not scaled, those of slow ones are, and others in part",
            "Use 32 and 1, or the values of the published model.");
    }
    if (at.run.model.rope_theta == 1) {
        at.found.error(at.values.location("model.rope_theta"),
                       "model.rope_theta = 1 with model.rope_scaling.kind = yarn",
                       "all pairs turn by the same angle, so none is slower than another",
                       "Use the value of the published model.");
    }
}

void longrope_has_a_factor_for_each_pair(const Resolution& at) {
    const auto& scaling = at.run.model.rope_scaling;
    if (scaling.kind != Kind::longrope) {
        return;
    }
    const auto pairs = at.run.model.rotary_channels() / 2;
    for (const auto& [key, factors] : {std::pair{"model.rope_scaling.short_factors", &scaling.short_factors},
                                       {"model.rope_scaling.long_factors", &scaling.long_factors}}) {
        if (std::ssize(*factors) != pairs) {
            at.found.error(at.values.location(key), fmt::format("{} has {} numbers", key, factors->size()),
                           fmt::format("a head has {} pairs of rotated channels", pairs),
                           "Give one number for each pair: those of the published model.");
        }
    }
    if (scaling.original_max_seq == 1) {
        at.found.error(at.values.location("model.rope_scaling.original_max_seq"),
                       "model.rope_scaling.original_max_seq = 1",
                       "attention_factor divides by its logarithm, which is 0",
                       "Use the sequence length of pretraining.");
    }
}

constexpr std::array rules = {
    Rule{families_scale_as_published, "model.family model.rope_scaling"},
    Rule{parts_have_an_order, "model.rope_scaling"},
    Rule{scaling_has_its_lengths, "model.rope_scaling"},
    Rule{yarn_has_a_range_of_pairs, "model.rope_scaling model.rope_theta"},
    Rule{longrope_has_a_factor_for_each_pair,
         "model.rope_scaling model.hidden model.heads model.head_dim model.rotary_fraction model.family"},
};

}  // namespace

std::span<const Rule> scaling_rules() {
    return rules;
}

}  // namespace ziggurat::deck
