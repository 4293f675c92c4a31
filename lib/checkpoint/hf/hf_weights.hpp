/// Weights of a published model, read into boxes of model tensors.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/hf/hf_layout.hpp"
#include "checkpoint/hf/model_folder.hpp"
#include "checkpoint/piece.hpp"
#include "layout/families/hf_format.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::checkpoint::hf {

/// An open model. Local: every rank opens it on its own.
class HfWeights {
  public:
    /// Reads the headers of all files and locates every tensor of `model`. A tied embedding may be stored
    /// under the name of the head; if both are stored, they are compared.
    ///
    /// Errors: Error{deck} if the folder does not exist, or if it has unsupported contents (each reported by
    ///         its name): tensors that the family does not have, unreadable element types. Error{checkpoint}
    ///         if a file is invalid, a tensor is missing or has another shape, or a tied model has a separate
    ///         head. Error{resource} on I/O errors
    HfWeights(const std::string& folder, const spec::Model& model);

    const std::string& path() const noexcept { return folder_.path(); }

    /// Returns one piece per tensor. Tensors of bf16 stay bf16; all others become f32.
    std::vector<Piece> pieces() const;

    /// Fills the targets. Reads only ranges of the files that hold requested elements.
    ///
    /// Uses up to three times layout::import_window_bytes of memory in addition to the targets.
    ///
    /// \pre targets are of weights, within tensors of the model
    /// Numerics: f16 and bf16 to f32 exactly; to bf16 rounded to nearest even
    /// Errors:   Error{checkpoint} if a file has become shorter; Error{resource} on I/O errors
    void read(std::span<const PieceTarget> targets);

    /// Sets a progress callback. read() calls it with bytes done and in total, in the targets' types. The
    /// callback must remain valid for the lifetime of this object.
    void set_progress_callback(std::function<void(std::int64_t, std::int64_t)> on_progress) {
        on_progress_ = std::move(on_progress);
    }

    /// Bytes read from files since construction, without headers.
    std::int64_t bytes_read() const noexcept { return bytes_read_; }

  private:
    struct Place {
        std::size_t layout = 0;
        std::size_t part = 0;
        LocatedTensor at;
    };

    /// True if the tensor belongs to another part of a model of text and images.
    bool is_left_out(const std::string& name) const;
    /// Returns the tensor `name` in the files; nullptr if it does not exist.
    const LocatedTensor* find(const std::string& name) const;
    /// Returns the tensor of `layout`.
    const LocatedTensor& locate(const HfLayout& layout, const spec::Model& model) const;
    void expect_known(const LocatedTensor& at, const HfLayout& layout) const;
    void expect_one_embedding(const HfLayout& embedding, const spec::Model& model);
    /// Reads elements of a tensor from `first` on, in f32.
    void read_values(const LocatedTensor& at, std::int64_t first, std::span<float> values);

    void read_box(const Place& place, const PieceTarget& target, const Box& box, std::int64_t offset_bytes);

    const layout::Published& published_;
    std::string prefix_;  ///< prefix of the family's names
    ModelFolder folder_;
    bool is_wrapped_ = false;  ///< the files hold a model of text and images
    bool has_prefix_ = true;   ///< true if the names in the files have it
    std::vector<HfLayout> layouts_;
    std::map<std::string, Place> places_;  ///< by model tensor name
    std::int64_t bytes_read_ = 0;
    std::function<void(std::int64_t, std::int64_t)> on_progress_;
    std::vector<std::byte> stored_;     ///< a range in the file's type
    std::vector<std::byte> converted_;  ///< the same in the target's type
    std::vector<std::byte> staged_;     ///< a box for a target that is not in memory
};

}  // namespace ziggurat::checkpoint::hf
