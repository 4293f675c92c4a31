/// MergedWeights: weights of a checkpoint with what their adapters add.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_reader.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::checkpoint::hf {

/// The two factors of an adapter, whole and in f32.
struct StoredAdapter {
    std::vector<float> a;  ///< [rank, in]
    std::vector<float> b;  ///< [out, rank]
};

/// Reads the adapter beside `weight` [out, in].
///
/// Errors: those of CheckpointReader::read
StoredAdapter read_adapter(CheckpointReader& reader,
                           const std::string& weight,
                           const std::vector<std::int64_t>& shape,
                           std::int64_t rank);

/// Reads weights as CheckpointReader does, those with an adapter as W + alpha / rank B A.
///
/// Source: Hu et al., "LoRA", 2021, section 4.1, no additional inference latency
class MergedWeights {
  public:
    /// \param model  that of the checkpoint; without adapters weights come as they are stored
    MergedWeights(CheckpointReader& reader, const spec::Model& model) : reader_{reader}, model_{model} {}

    /// Fills the targets, each of weights and in memory.
    ///
    /// Numerics: products and sums in f32 over ascending ranks, whatever the stored types; rounded once
    /// Errors:   those of CheckpointReader::read
    void read(std::span<const PieceTarget> targets);

  private:
    void add(const PieceTarget& target, std::span<float> values);

    CheckpointReader& reader_;
    const spec::Model& model_;
    std::map<std::string, StoredAdapter> adapters_;  ///< of the targets of one call
};

}  // namespace ziggurat::checkpoint::hf
