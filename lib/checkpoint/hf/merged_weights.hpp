/// MergedWeights: weights of a checkpoint with their adapters added.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_reader.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::checkpoint::hf {

/// The two factors of an adapter, complete and in f32.
struct StoredAdapter {
    std::vector<float> a;  ///< [rank, in]
    std::vector<float> b;  ///< [out, rank]
};

/// Reads the adapter of `weight` [out, in].
///
/// Errors: those of CheckpointReader::read
StoredAdapter read_adapter(CheckpointReader& reader,
                           const std::string& weight,
                           const std::vector<std::int64_t>& shape,
                           std::int64_t rank);

/// Reads weights like CheckpointReader, but returns W + alpha / rank B A for weights with an adapter.
///
/// Source: Hu et al., "LoRA", 2021, section 4.1, no additional inference latency
class MergedWeights {
  public:
    /// \param model  model of the checkpoint; without adapters, weights are read as stored
    MergedWeights(CheckpointReader& reader, const spec::Model& model) : reader_{reader}, model_{model} {}

    /// Fills the targets. Each target must be of weights and in memory.
    ///
    /// Numerics: products and sums in f32 over ascending ranks, for all stored types; rounded once
    /// Errors:   those of CheckpointReader::read
    void read(std::span<const PieceTarget> targets);

  private:
    void add(const PieceTarget& target, std::span<float> values);

    CheckpointReader& reader_;
    const spec::Model& model_;
    std::map<std::string, StoredAdapter> adapters_;  ///< of the weights of the last call
};

}  // namespace ziggurat::checkpoint::hf
