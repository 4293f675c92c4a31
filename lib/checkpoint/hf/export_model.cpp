#include "checkpoint/hf/export_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "checkpoint/hf/config_text.hpp"
#include "checkpoint/hf/file_types.hpp"
#include "checkpoint/hf/hf_layout.hpp"
#include "checkpoint/hf/merged_weights.hpp"
#include "checkpoint/hf/model_files.hpp"
#include "checkpoint/hf/model_folder.hpp"
#include "checkpoint/hf/safetensors_writer.hpp"
#include "checkpoint/hf/weight_map.hpp"
#include "deck/files/hf_config.hpp"
#include "storage/directory.hpp"

namespace ziggurat::checkpoint::hf {
namespace {

/// Half of the memory in use at a time: the window; transposed tensors use as much again.
constexpr std::int64_t window_bytes = std::int64_t{32} << 20;

/// Bytes of one published tensor in the order of the file, window by window.
class TensorStream {
  public:
    TensorStream(MergedWeights& weights, const HfLayout& layout, spec::DType type)
        : weights_{weights}, layout_{layout}, type_{type}, width_{spec::element_bytes(type)} {}

    template <class Use>
    void run(const Use& use) {
        const auto lines = layout_.is_transposed ? layout_.columns : layout_.rows;
        const auto line_bytes = (layout_.is_transposed ? layout_.rows : layout_.columns) * width_;
        const auto at_once = std::max<std::int64_t>(1, window_bytes / line_bytes);
        for (std::int64_t first = 0; first < lines; first += at_once) {
            const auto end = std::min(first + at_once, lines);
            window_.resize((end - first) * line_bytes);
            if (layout_.is_transposed) {
                fill_transposed(first, end);
            } else {
                fill(first, end);
            }
            use(std::span<const std::byte>{window_});
        }
    }

  private:
    PieceTarget target(const HfPart& part, Box box, std::byte* into) const {
        return {{PieceKind::weights, part.tensor, part.shape, type_, std::move(box)}, into};
    }

    /// Fills rows [first, end) of the published tensor from all parts that contain them.
    void fill(std::int64_t first, std::int64_t end) {
        std::vector<PieceTarget> targets;
        for (const auto& part : layout_.parts) {
            for (std::int64_t row = 0; row < part.shape.front(); row += part.group_rows) {
                const auto there = part.first_row + row / part.group_rows * part.group_stride;
                const auto begin = std::max(first, there);
                const auto rows =
                    std::min(end, there + std::min(part.group_rows, part.shape.front() - row)) - begin;
                if (rows > 0) {
                    auto box = whole(part.shape);
                    box.begin.front() = row + begin - there;
                    box.extent.front() = rows;
                    targets.push_back(target(part, std::move(box),
                                             window_.data() + (begin - first) * layout_.columns * width_));
                }
            }
        }
        weights_.read(targets);
    }

    /// Fills columns [first, end), one after another.
    void fill_transposed(std::int64_t first, std::int64_t end) {
        const auto columns = end - first;
        part_.resize(window_.size());
        std::vector<PieceTarget> targets;
        std::int64_t before = 0;
        for (const auto& part : layout_.parts) {
            auto box = whole(part.shape);
            box.begin[1] = first;
            box.extent[1] = columns;
            targets.push_back(target(part, std::move(box), part_.data() + before * columns * width_));
            before += part.shape.front();
        }
        weights_.read(targets);
        const std::byte* from = part_.data();
        for (const auto& filled : targets) {
            const auto& part = layout_.parts[&filled - targets.data()];
            for_each_run(layout_, part, filled.piece.box, [&](const HfRun& run) {
                auto* to = window_.data() + (run.offset - first * layout_.rows) * width_;
                for (std::int64_t k = 0; k < run.elements; ++k) {
                    std::memcpy(to + k * width_, from + (run.offset_in_box + k * run.step_in_box) * width_,
                                static_cast<std::size_t>(width_));
                }
            });
            from += filled.piece.bytes();
        }
    }

    MergedWeights& weights_;
    const HfLayout& layout_;
    spec::DType type_;
    std::int64_t width_;
    std::vector<std::byte> window_;
    std::vector<std::byte> part_;  ///< part of a transposed tensor, as stored in the checkpoint
};

/// Distributes tensors, by name, over files of at most `max_bytes`.
std::vector<std::vector<HfLayout>> share_out(std::vector<HfLayout> layouts,
                                             spec::DType type,
                                             std::int64_t max_bytes) {
    std::ranges::sort(layouts, {}, &HfLayout::name);
    std::vector<std::vector<HfLayout>> files;
    std::int64_t bytes = 0;
    for (auto& layout : layouts) {
        const auto more = layout.elements() * spec::element_bytes(type);
        if (files.empty() || bytes + more > max_bytes) {
            files.emplace_back();
            bytes = 0;
        }
        bytes += more;
        files.back().push_back(std::move(layout));
    }
    return files;
}

}  // namespace

ExportedModel export_model(CheckpointReader& reader,
                           const spec::Model& model,
                           const std::string& folder,
                           spec::DType type,
                           std::int64_t max_file_bytes,
                           const std::string& usage,
                           const std::function<void(std::int64_t, std::int64_t)>& on_progress) {
    const auto config = config_text(model, type, usage);  // before anything is written: it may fail
    make_empty_folder(folder);
    const auto files = share_out(hf_layouts(model), type, max_file_bytes);
    ExportedModel made;
    made.files = static_cast<int>(files.size());
    for (const auto& file : files) {
        for (const auto& layout : file) {
            made.bytes += layout.elements() * spec::element_bytes(type);
            ++made.tensors;
        }
    }
    std::map<std::string, std::string> file_of_tensor;
    MergedWeights weights{reader, model};
    std::int64_t done = 0;
    for (std::size_t k = 0; k < files.size(); ++k) {
        const auto name = files.size() == 1
                              ? std::string{single_file_name}
                              : fmt::format("model-{:05}-of-{:05}.safetensors", k + 1, files.size());
        std::vector<FileTensor> tensors;
        for (const auto& layout : files[k]) {
            tensors.push_back({layout.name, name_of(type), layout.shape});
            file_of_tensor.emplace(layout.name, name);
        }
        SafetensorsWriter writer{folder + "/" + name, std::move(tensors)};
        for (const auto& layout : files[k]) {
            TensorStream{weights, layout, type}.run([&](std::span<const std::byte> bytes) {
                writer.append(bytes);
                done += std::ssize(bytes);
                if (on_progress) {
                    on_progress(done, made.bytes);
                }
            });
        }
        writer.finish();
    }
    if (files.size() > 1) {
        write_text(folder + "/" + index_name, index_text(file_of_tensor, made.bytes));
    }
    write_text(folder + "/" + deck::hf_config_name, config);
    storage::flush_directory(folder);
    return made;
}

}  // namespace ziggurat::checkpoint::hf
