#include "data/chat/kept_samples.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <mutex>

#include "base/error.hpp"
#include "base/path_exists.hpp"
#include "base/text/printable.hpp"

namespace ziggurat::data {
namespace {

/// Samples without a name, by the path that kept ones would have.
class UnkeptSamples {
  public:
    void add(const std::string& path, FileHandle file) {
        const std::scoped_lock lock{mutex_};
        files_.insert_or_assign(path, std::move(file));
    }
    std::optional<SampleFile> find(const std::string& path) {
        const std::scoped_lock lock{mutex_};
        const auto found = files_.find(path);
        if (found == files_.end()) {
            return std::nullopt;
        }
        const auto opened = fmt::format("/proc/self/fd/{}", found->second.get());
        return SampleFile{MappedFile{opened, path, path}, path};
    }

  private:
    std::mutex mutex_;
    std::map<std::string, FileHandle> files_;
};

UnkeptSamples& unkept_samples() {
    static UnkeptSamples samples;
    return samples;
}

/// Returns the reason why a file is not the samples with a key; empty if it is.
std::string unusable_seal_reason(const SampleFile& file, std::uint64_t key, const StopCheck& stop) {
    const auto seal = file.seal();
    if (!seal) {
        return "it has no hash, as files of earlier versions";
    }
    if (seal->key != key) {
        return "it was made from other records, or with other settings";
    }
    return file.computed_seal(key, stop) == *seal ? "" : "it is damaged: its hash differs";
}

}  // namespace

std::vector<std::string> SampleNames::all() const {
    return other_path.empty() || other_path == path ? std::vector{path} : std::vector{path, other_path};
}

SampleNames sample_names(const std::string& records, const std::string& other_folder, std::uint64_t key) {
    const auto ending = fmt::format("{:016x}{}", key, sample_file_ending);
    return {.path = fmt::format("{}.{}", records, ending),
            .other_path = other_folder.empty() ? "" : (std::filesystem::path{other_folder} / ending).string(),
            .key = key};
}

std::optional<SampleFile> find_samples(const SampleNames& names,
                                       const StopCheck& stop,
                                       std::string& unusable_reason) {
    for (const auto& path : names.all()) {
        if (!path_exists(path)) {
            continue;
        }
        std::string reason;
        try {
            SampleFile file{path, path};
            reason = unusable_seal_reason(file, names.key, stop);
            if (reason.empty()) {
                return file;
            }
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::deck) {
                throw;
            }
            reason = "it is damaged or incomplete";
        }
        unusable_reason = fmt::format("'{}' is not used: {}", printable(path), reason);
    }
    return unkept_samples().find(names.path);
}

void keep_for_this_process(const SampleNames& names, TemporaryFile& file) {
    unkept_samples().add(names.path, file.take_file());
}

void remove_abandoned_samples(const SampleNames& names, const std::string& records) {
    remove_abandoned(records, sample_file_ending);
    if (!names.other_path.empty()) {
        remove_abandoned(names.other_path);
    }
}

}  // namespace ziggurat::data
