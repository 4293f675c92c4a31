#include "checkpoint/check_manifest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

namespace ziggurat::checkpoint {
namespace {

constexpr std::int64_t most_elements = std::int64_t{1} << 60;  // bytes of so many fit into 63 bits

[[noreturn]] void refuse(const std::string& why) {
    throw std::invalid_argument{why};
}

void check_file(const FileEntry& file, std::set<std::string>& names) {
    if (file.name.empty() || file.name == "." || file.name == ".." ||
        file.name.find('/') != std::string::npos || file.name.find('\0') != std::string::npos) {
        refuse("'" + file.name + "' is no name of a file");
    }
    if (!names.insert(file.name).second) {
        refuse("two files are called '" + file.name + "'");
    }
    if (file.bytes < 0) {
        refuse("'" + file.name + "' has a negative size");
    }
}

void check_box(const Piece& piece) {
    std::int64_t elements = 1;
    if (piece.box.begin.size() != piece.shape.size() || piece.box.extent.size() != piece.shape.size()) {
        refuse("a box of '" + piece.tensor + "' has other dims than the tensor");
    }
    for (std::size_t k = 0; k < piece.shape.size(); ++k) {
        const std::int64_t begin = piece.box.begin[k];
        const std::int64_t extent = piece.box.extent[k];
        if (begin < 0 || extent < 1 || begin > piece.shape[k] || extent > piece.shape[k] - begin) {
            refuse("a box of '" + piece.tensor + "' leaves the tensor");
        }
        if (piece.shape[k] > most_elements / elements) {
            refuse("'" + piece.tensor + "' has too many elements");
        }
        elements *= piece.shape[k];
    }
}

/// Bytes of a file that something takes: [begin, end).
using Extent = std::pair<std::int64_t, std::int64_t>;

void check_apart(std::vector<Extent>& extents, const std::string& file) {
    std::sort(extents.begin(), extents.end());
    for (std::size_t k = 1; k < extents.size(); ++k) {
        if (extents[k].first < extents[k - 1].second) {
            refuse(fmt::format("two pieces share byte {} of '{}'", extents[k].first, file));
        }
    }
}

/// The boxes of one tensor, all within it, cover it exactly once: none meets another, and their elements
/// add up.
void check_cover(const std::vector<const Piece*>& pieces) {
    const Piece& any = *pieces.front();
    std::vector<const Box*> boxes;
    std::int64_t elements = 0;
    for (const Piece* piece : pieces) {
        if (piece->shape != any.shape || piece->type != any.type) {
            refuse("pieces of '" + any.tensor + "' disagree on its shape or type");
        }
        boxes.push_back(&piece->box);
        elements += piece->box.elements();
    }
    if (elements != whole(any.shape).elements()) {
        refuse("the pieces of '" + any.tensor + "' do not cover it exactly once");
    }
    std::sort(boxes.begin(), boxes.end(), [](const Box* a, const Box* b) { return a->begin < b->begin; });
    for (std::size_t k = 0; k < boxes.size(); ++k) {
        for (std::size_t other = k + 1; other < boxes.size(); ++other) {
            if (!any.shape.empty() && boxes[other]->begin[0] >= boxes[k]->begin[0] + boxes[k]->extent[0]) {
                break;  // nor do those after it
            }
            if (common_part(*boxes[k], *boxes[other])) {
                refuse("two pieces of '" + any.tensor + "' overlap");
            }
        }
    }
}

}  // namespace

void check_manifest(const Manifest& manifest) {
    std::set<std::string> names;
    for (const FileEntry& file : manifest.files) {
        check_file(file, names);
    }
    if (manifest.progress.step < 0 || manifest.progress.tokens < 0 || manifest.progress.next_sample < 0 ||
        manifest.progress.skipped < 0) {
        refuse("its progress is negative");
    }
    std::vector<std::vector<Extent>> extents(manifest.files.size());
    std::map<std::pair<Kind, std::string>, std::vector<const Piece*>> tensors;
    for (const StoredPiece& stored : manifest.pieces) {
        if (stored.file < 0 || stored.file >= static_cast<int>(manifest.files.size())) {
            refuse("a piece of '" + stored.piece.tensor + "' lies in a file that is not listed");
        }
        check_box(stored.piece);
        const auto file = static_cast<std::size_t>(stored.file);
        for (const auto& [offset, bytes] : {Extent{stored.offset_bytes, stored.piece.bytes()},
                                            Extent{stored.table_offset_bytes, table_bytes(stored.piece)}}) {
            if (offset < 0 || bytes > manifest.files[file].bytes ||
                offset > manifest.files[file].bytes - bytes) {
                refuse(fmt::format("a piece of '{}' leaves '{}'", stored.piece.tensor,
                                   manifest.files[file].name));
            }
            extents[file].emplace_back(offset, offset + bytes);
        }
        tensors[{stored.piece.kind, stored.piece.tensor}].push_back(&stored.piece);
    }
    for (std::size_t file = 0; file < extents.size(); ++file) {
        check_apart(extents[file], manifest.files[file].name);
    }
    for (const auto& [key, pieces] : tensors) {
        check_cover(pieces);
    }
}

}  // namespace ziggurat::checkpoint
