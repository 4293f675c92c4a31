/// Output of `ziggurat inspect`, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/catalogue.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "checkpoint/compare.hpp"
#include "checkpoint/tensor_list.hpp"
#include "data/token_head.hpp"

namespace ziggurat::app {

/// What --verify found in one folder.
struct Verified {
    std::string path;
    std::vector<checkpoint::Damage> damages;
};

/// Everything that --verify found.
struct Verification {
    std::vector<Verified> checkpoints;
    std::int64_t bytes = 0;
    double seconds = 0;

    std::int64_t num_damages() const;
};

/// A line for each checkpoint.
std::string text_of(const checkpoint::Catalogue& catalogue);
std::string json_of(const checkpoint::Catalogue& catalogue);

/// A checkpoint and a line for each of its tensors.
std::string text_of_tensors(const checkpoint::CheckpointReader& reader);
std::string json_of_tensors(const checkpoint::CheckpointReader& reader);

/// One kind of a tensor, and its numbers.
struct Numbers {
    checkpoint::StoredTensor tensor;
    checkpoint::Statistics statistics;
};
std::string text_of(const std::string& path, const std::vector<Numbers>& kinds);
std::string json_of(const std::string& path, const std::vector<Numbers>& kinds);

std::string text_of(const Verification& verification);
std::string json_of(const Verification& verification);

/// The head of a token file.
std::string text_of(const data::TokenHead& head);
std::string json_of(const data::TokenHead& head);

/// Two checkpoints that were compared.
struct Compared {
    std::string first_path;
    std::string second_path;
    checkpoint::TrainingProgress first;
    checkpoint::TrainingProgress second;
    checkpoint::Comparison comparison;
};
std::string text_of(const Compared& compared);
std::string json_of(const Compared& compared);

}  // namespace ziggurat::app
