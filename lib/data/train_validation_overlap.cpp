#include "data/train_validation_overlap.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "data/fingerprint.hpp"
#include "data/mapped_file.hpp"

namespace ziggurat::data {
namespace {

constexpr std::size_t page = 4096;

std::uint64_t hash_of_first_page(const std::string& path) {
    const MappedFile file{path, path};
    const auto first = file.content().first(std::min(page, file.content().size()));
    return std::hash<std::string_view>{}({reinterpret_cast<const char*>(first.data()), first.size()});
}

/// Training files, indexed by inode and by content.
class TrainedFiles {
  public:
    TrainedFiles(std::span<const std::string> paths, std::size_t num_files, const StopCheck& stop)
        : paths_{paths}, max_hashed_{bytes_to_hash(num_files)}, stop_{stop} {
        for (std::size_t i = 0; i < paths.size(); ++i) {
            if (const auto stamp = stamp_of(paths[i])) {
                by_inode_.try_emplace({stamp->device, stamp->inode}, i);
                by_size_[stamp->bytes].push_back(i);
            }
        }
    }

    std::optional<SharedFile> find(std::size_t validated, const std::string& path) {
        check(stop_);
        const auto stamp = stamp_of(path);
        if (!stamp) {
            return std::nullopt;
        }
        if (const auto same = by_inode_.find({stamp->device, stamp->inode}); same != by_inode_.end()) {
            return SharedFile{validated, same->second, false};
        }
        for (const auto i : identical(path, stamp->bytes)) {
            if (hash(paths_[i]) == hash(path)) {
                return SharedFile{validated, i, true};
            }
        }
        return std::nullopt;
    }

  private:
    /// Returns the files of the same size with the same first page.
    std::vector<std::size_t> identical(const std::string& path, std::int64_t bytes) {
        const auto same_size = by_size_.find(bytes);
        if (same_size == by_size_.end()) {
            return {};
        }
        if (begun_.insert(bytes).second) {
            for (const auto i : same_size->second) {
                by_beginning_[{bytes, hash_of_first_page(paths_[i])}].push_back(i);
            }
        }
        const auto found = by_beginning_.find({bytes, hash_of_first_page(path)});
        return found == by_beginning_.end() ? std::vector<std::size_t>{} : found->second;
    }

    std::uint64_t hash(const std::string& path) {
        const auto [known, is_new] = hashes_.try_emplace(path, 0);
        if (is_new) {
            known->second = sampled_hash(MappedFile{path, path}.content(), max_hashed_, stop_);
        }
        return known->second;
    }

    std::span<const std::string> paths_;
    std::int64_t max_hashed_;
    const StopCheck& stop_;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> by_inode_;  // (device, inode)
    std::map<std::int64_t, std::vector<std::size_t>> by_size_;
    std::set<std::int64_t> begun_;  // sizes whose files are in by_beginning_
    std::map<std::pair<std::int64_t, std::uint64_t>, std::vector<std::size_t>> by_beginning_;
    std::map<std::string, std::uint64_t> hashes_;
};

}  // namespace

std::vector<SharedFile> find_train_validation_overlap(std::span<const std::string> validated,
                                                      std::span<const std::string> trained,
                                                      const StopCheck& stop) {
    TrainedFiles files{trained, validated.size() + trained.size(), stop};
    std::vector<SharedFile> shared;
    for (std::size_t v = 0; v < validated.size(); ++v) {
        if (const auto found = files.find(v, validated[v])) {
            shared.push_back(*found);
        }
    }
    return shared;
}

}  // namespace ziggurat::data
