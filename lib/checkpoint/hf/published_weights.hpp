/// Weights of a published model, read into boxes of ours.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/hf/model_folder.hpp"
#include "checkpoint/hf/published_layout.hpp"
#include "checkpoint/piece.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::checkpoint::hf {

/// An open model. Local: every rank opens it for itself.
class PublishedWeights {
  public:
    /// Reads the headers of all files and finds every tensor of `model` in them. A tied embedding may be
    /// stored under the name of the head; if both are stored, they are compared.
    ///
    /// Errors: Error{deck} when there is no such folder, or it holds what is not built: tensors that the
    /// family
    ///         does not have, types of numbers that are not read, each by its name; Error{checkpoint} when a
    ///         file is broken, a tensor is missing or has another shape, or a tied model has a head of its
    ///         own; Error{resource} when the disk fails
    PublishedWeights(const std::string& folder, const spec::Model& model);

    const std::string& path() const noexcept { return folder_.path(); }

    /// Pieces of all tensors, each whole; those of bf16 are bf16, all others f32.
    std::vector<Piece> pieces() const;

    /// Fills the targets. Only ranges of the files that hold wanted elements are read; besides the targets it
    /// takes window_bytes of memory.
    ///
    /// \pre targets are of weights, within tensors of the model
    /// Numerics: f16 and bf16 to f32 exactly; to bf16 rounded to nearest even
    /// Errors:   Error{checkpoint} when a file has become shorter; Error{resource} when the disk fails
    void read(std::span<const PieceTarget> targets);

    /// `told` is called by read() with bytes done and in all, as the targets have them; it lives as long as
    /// this.
    void tell_bytes(std::function<void(std::int64_t, std::int64_t)> told) { told_ = std::move(told); }

    /// Bytes read from files since construction, without headers.
    std::int64_t bytes_read() const noexcept { return bytes_read_; }

  private:
    struct Place {
        std::size_t layout = 0;
        std::size_t part = 0;
        LocatedTensor at;
    };

    /// The tensor `name` in the files; nullptr if they do not have it.
    const LocatedTensor* find(const std::string& name) const;
    /// The tensor of `layout`.
    const LocatedTensor& locate(const PublishedLayout& layout, const spec::Model& model) const;
    void expect_known(const LocatedTensor& at, const PublishedLayout& layout) const;
    void expect_one_embedding(const PublishedLayout& embedding, const spec::Model& model);
    /// Elements of a tensor from `first` on, in f32.
    void read_values(const LocatedTensor& at, std::int64_t first, std::span<float> values);

    void read_box(const Place& place, const PieceTarget& target, const Box& box, std::int64_t offset_bytes);

    std::string prefix_;  ///< of the family's names
    ModelFolder folder_;
    bool has_prefix_ = true;  ///< the names in the files have it
    std::vector<PublishedLayout> layouts_;
    std::map<std::string, Place> places_;  ///< by the name of our tensor
    std::int64_t bytes_read_ = 0;
    std::function<void(std::int64_t, std::int64_t)> told_;
    std::vector<std::byte> stored_;     ///< a run as the file has it
    std::vector<std::byte> converted_;  ///< the same in the target's type
    std::vector<std::byte> staged_;     ///< a box on its way into a target that is no memory
};

}  // namespace ziggurat::checkpoint::hf
