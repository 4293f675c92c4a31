#include "train/save/load_state.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "checkpoint/hf/hf_weights.hpp"
#include "comm/control.hpp"
#include "comm/throw_on_all_ranks.hpp"
#include "kernels/elementwise.hpp"
#include "layout/families/adapters.hpp"
#include "tensor/bfloat16.hpp"
#include "train/save/held_pieces.hpp"
#include "train/save/replicate_slices.hpp"
#include "train/save/replicate_state.hpp"

namespace ziggurat::train {

using checkpoint::PieceKind;

namespace {

using Shapes = std::map<std::string, std::vector<std::int64_t>>;

/// Returns the shape of each tensor of which the checkpoint has pieces of `kind`.
Shapes stored_shapes(const checkpoint::Manifest& manifest, PieceKind kind) {
    Shapes shapes;
    for (const auto& stored : manifest.pieces) {
        if (stored.piece.kind == kind) {
            shapes.emplace(stored.piece.tensor, stored.piece.shape);
        }
    }
    return shapes;
}

/// Returns true if the kind starts at zero for a tensor that was frozen in the checkpoint.
bool may_be_missing(layout::StateKind kind) {
    return layout::row_of(kind).restore == layout::Restore::read_or_zero;
}

/// Returns true if the kind starts as a copy of the weights for tensors without such pieces.
bool may_be_weights(layout::StateKind kind) {
    return layout::row_of(kind).restore == layout::Restore::read_or_weights;
}

/// Returns the pieces that this rank reads: those that it would save.
///
/// Other ranks read the other pieces. Missing moments, those of the tensors `without_moments`, are set to
/// zero. Missing averages and delayed weights are read from the weights.
///
/// \param averages  tensors of which the checkpoint has an average
/// \param delayed   tensors of which the checkpoint has delayed weights
std::vector<checkpoint::PieceTarget> targets_of(const StateView& state,
                                                const std::set<std::string>& without_moments,
                                                const Shapes& averages,
                                                const Shapes& delayed) {
    std::vector<checkpoint::PieceTarget> targets;
    for (auto& held : held_pieces(state.model, state.program, PieceExtent::finest)) {
        if (!held.is_saved) {
            continue;
        }
        const auto kind = state.program.buffers[held.buffer].state;
        if (may_be_missing(kind) && without_moments.contains(held.piece.tensor)) {
            fill_zero(state, held);
        } else {
            const bool has_no_average = may_be_weights(kind) && !averages.contains(held.piece.tensor);
            const bool is_up_to_date =
                held.piece.kind == PieceKind::delayed_weights && !delayed.contains(held.piece.tensor);
            if (has_no_average || is_up_to_date) {
                held.piece.kind = PieceKind::weights;
            }
            targets.push_back(target_at_home(state, std::move(held)));
        }
    }
    return targets;
}

/// Calls `read_targets`, which reads this rank's pieces, then replicates the state to all ranks.
///
/// Returns the bytes read by all ranks; `read_targets` returns those of this rank.
///
/// \param path     path of the checkpoint or model, for messages
/// \param is_read  true for the kinds that are read and must be replicated
std::int64_t read(const comm::Context& world,
                  const StateView& state,
                  const std::string& path,
                  const std::function<std::int64_t()>& read_targets,
                  const std::function<bool(layout::StateKind)>& is_read) {
    std::int64_t bytes = 0;
    comm::throw_on_all_ranks(world, fmt::format("cannot read '{}'", path), [&] { bytes = read_targets(); });
    replicate_slices(world, state, is_read);
    replicate_state(world, state);
    comm::all_reduce_sum(world, std::span{&bytes, 1});
    return bytes;
}

/// Reads `targets` from a checkpoint and replicates them.
std::int64_t read(const comm::Context& world,
                  const StateView& state,
                  checkpoint::CheckpointReader& reader,
                  std::span<const checkpoint::PieceTarget> targets,
                  const std::function<bool(layout::StateKind)>& is_read) {
    return read(
        world, state, reader.path(),
        [&] {
            reader.read(targets);
            return reader.bytes_read();
        },
        is_read);
}

/// Returns true for the kinds that the weights of a source fill.
bool is_weights(layout::StateKind kind) {
    const auto piece = layout::row_of(kind).piece;
    return piece == PieceKind::weights || piece == PieceKind::average;
}

/// Returns the pieces of weights that this rank reads, also into averages and delayed weights.
///
/// \param has_adapters  true if the source has adapters; if not, adapters keep their values
std::vector<checkpoint::PieceTarget> targets_of_weights(const StateView& state, bool has_adapters) {
    std::vector<checkpoint::PieceTarget> targets;
    for (auto& held : held_pieces(state.model, state.program, PieceExtent::finest)) {
        const bool is_present = has_adapters || !layout::is_of_adapter(held.piece.tensor);
        if (is_present && held.is_saved && is_weights(state.program.buffers[held.buffer].state)) {
            held.piece.kind = PieceKind::weights;
            targets.push_back(target_at_home(state, std::move(held)));
        }
    }
    return targets;
}

/// Returns the reason why a checkpoint does not match the model; empty if it matches.
///
/// The reason is a tensor that only one of the two has, or that has another shape.
std::string misfit(const layout::FamilyTable& table, const checkpoint::Manifest& manifest) {
    auto stored = stored_shapes(manifest, PieceKind::weights);
    for (const auto& unit : table.units) {
        for (const auto& parameter : unit.parameters) {
            auto shape = parameter.extents;
            if (parameter.valid_rows >= 0) {
                shape.front() = parameter.valid_rows;
            }
            const auto at = stored.find(parameter.name);
            if (at == stored.end()) {
                return fmt::format("it has no tensor '{}'", parameter.name);
            }
            if (at->second != shape) {
                return fmt::format("'{}' has shape [{}] in it and [{}] in this model", parameter.name,
                                   fmt::join(at->second, ", "), fmt::join(shape, ", "));
            }
            stored.erase(at);
        }
    }
    return stored.empty() ? ""
                          : fmt::format("it has '{}', which this model does not have", stored.begin()->first);
}

void refuse_misfit(const layout::FamilyTable& table,
                   const checkpoint::Manifest& manifest,
                   const std::string& path,
                   const char* advice) {
    const auto reason = misfit(table, manifest);
    if (!reason.empty()) {
        throw Error{ErrorKind::deck,
                    fmt::format("checkpoint '{}' is of another model ({}). {}", path, reason, advice)};
    }
}

layout::FamilyTable without_adapters(layout::FamilyTable table) {
    for (auto& unit : table.units) {
        std::erase_if(unit.parameters, [](const layout::Parameter& parameter) {
            return layout::is_of_adapter(parameter.name);
        });
    }
    return table;
}

}  // namespace

std::set<std::string> tensors_without_moments(const layout::FamilyTable& table,
                                              const checkpoint::Manifest& manifest) {
    Shapes stored;
    for (const auto kind : layout::state_kinds) {
        if (may_be_missing(kind)) {
            stored.merge(stored_shapes(manifest, layout::row_of(kind).piece.value()));
        }
    }
    std::set<std::string> found;
    for (const auto& unit : table.units) {
        for (const auto& parameter : unit.parameters) {
            if (parameter.is_trained && !stored.contains(parameter.name)) {
                found.insert(parameter.name);
            }
        }
    }
    return found;
}

bool has_adapters(const checkpoint::Manifest& manifest) {
    return std::ranges::any_of(manifest.pieces, [](const checkpoint::StoredPiece& stored) {
        return layout::is_of_adapter(stored.piece.tensor);
    });
}

void expect_same_tensors(const layout::FamilyTable& table,
                         const checkpoint::Manifest& manifest,
                         const std::string& path) {
    refuse_misfit(table, manifest, path,
                  "Resume with the deck that it was written with, or set another run.dir.");
}

void expect_same_weights(const layout::FamilyTable& table,
                         const checkpoint::Manifest& manifest,
                         const std::string& path) {
    if (has_adapters(manifest)) {
        refuse_misfit(table, manifest, path,
                      "Configure the adapters of the checkpoint in train.lora, or merge them with "
                      "`ziggurat export --merge` and set model.init to the result.");
    } else {
        refuse_misfit(without_adapters(table), manifest, path,
                      "Set model.init to a checkpoint of this model, or change the model to that of the "
                      "checkpoint.");
    }
}

std::int64_t load_state(const comm::Context& world,
                        const StateView& state,
                        checkpoint::CheckpointReader& reader) {
    expect_same_tensors(state.model.table, reader.manifest(), reader.path());
    const auto fresh = tensors_without_moments(state.model.table, reader.manifest());
    const auto averages = stored_shapes(reader.manifest(), PieceKind::average);
    const auto delayed = stored_shapes(reader.manifest(), PieceKind::delayed_weights);
    return read(world, state, reader, targets_of(state, fresh, averages, delayed),
                [](layout::StateKind) { return true; });
}

std::int64_t load_weights(const comm::Context& world,
                          const StateView& state,
                          checkpoint::CheckpointReader& reader) {
    expect_same_weights(state.model.table, reader.manifest(), reader.path());
    const bool brings_adapters = has_adapters(reader.manifest());
    return read(world, state, reader, targets_of_weights(state, brings_adapters), is_weights);
}

std::int64_t load_published_weights(const comm::Context& world,
                                    const StateView& state,
                                    const spec::Model& model,
                                    std::function<void(std::int64_t, std::int64_t)> on_progress) {
    const auto read_targets = [&] {
        checkpoint::hf::HfWeights weights{model.init_path, model};
        weights.set_progress_callback(std::move(on_progress));
        weights.read(targets_of_weights(state, false));
        return weights.bytes_read();
    };
    return read(world, state, model.init_path, read_targets, is_weights);
}

}  // namespace ziggurat::train
