/// Output of `ziggurat inspect`, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/catalogue/catalogue.hpp"
#include "checkpoint/catalogue/compare.hpp"
#include "checkpoint/catalogue/tensor_list.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "data/token_file_header.hpp"

namespace ziggurat::app {

/// Result of --verify for one checkpoint.
struct Verified {
    std::string path;
    std::vector<checkpoint::Defect> defects;
};

/// Result of --verify for all checkpoints.
struct Verification {
    std::vector<Verified> checkpoints;
    std::vector<std::string> notes;  ///< files that an interrupted save has left
    std::int64_t bytes = 0;
    double seconds = 0;

    std::int64_t num_damages() const;
};

/// Return the list of checkpoints, one line or JSON object each.
std::string text_of(const checkpoint::Catalogue& catalogue);
std::string json_of(const checkpoint::Catalogue& catalogue);

/// Return a checkpoint and its tensors, one line or JSON object each.
std::string text_of_tensors(const checkpoint::CheckpointReader& reader);
std::string json_of_tensors(const checkpoint::CheckpointReader& reader);

/// Statistics of one kind (weights, moments ...) of a tensor.
struct Numbers {
    checkpoint::StoredTensor tensor;
    checkpoint::Statistics statistics;
};
std::string text_of(const std::string& path, const std::vector<Numbers>& kinds);
std::string json_of(const std::string& path, const std::vector<Numbers>& kinds);

std::string text_of(const Verification& verification);
std::string json_of(const Verification& verification);

/// Return the header of a token file.
std::string text_of(const data::TokenFileHeader& head);
std::string json_of(const data::TokenFileHeader& head);

/// Result of a comparison of two checkpoints.
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
