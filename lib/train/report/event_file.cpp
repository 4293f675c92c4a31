#include "train/report/event_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "storage/io_error.hpp"

namespace ziggurat::train {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "events.out.tfevents.";
constexpr double bytes_of_gib = 1LL << 30;

/// Returns the latest time in the names of the folder's event files; 0 if there are no such files.
std::int64_t latest_time(const std::string& folder) {
    std::int64_t latest = 0;
    std::error_code none;
    for (const fs::directory_entry& entry : fs::directory_iterator{folder, none}) {
        const std::string name = entry.path().filename().string();
        std::int64_t time = 0;
        if (name.starts_with(prefix)) {
            std::from_chars(name.data() + prefix.size(), name.data() + name.size(), time);
        }
        latest = std::max(latest, time);
    }
    return latest;
}

/// Returns the path of a new file.
///
/// Readers sort by name, so the name sorts last even if the clock was set back.
std::string new_path(const std::string& folder) {
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0) {
        std::strcpy(host.data(), "host");
    }
    const auto time = std::max(static_cast<std::int64_t>(calendar_seconds()), latest_time(folder) + 1);
    return fmt::format("{}/{}{:010}.{}.{}.0", folder, prefix, time, host.data(), ::getpid());
}

void make_folder(const std::string& path) {
    std::error_code failure;
    fs::create_directories(path, failure);
    if (failure) {
        throw Error{
            ErrorKind::resource,
            fmt::format("cannot create '{}' for TensorBoard ({}). Set run.dir to a directory where you may "
                        "write, or leave logging.tensorboard out.",
                        path, failure.message())};
    }
}

/// Returns the curve names of sources. They are made once and kept in `tags`.
const std::vector<std::string>& source_tags(const char* prefix_of_all,
                                            std::span<const SourceLoss> losses,
                                            std::vector<std::string>& tags) {
    for (auto i = tags.size(); i < losses.size(); ++i) {
        tags.push_back(prefix_of_all + losses[i].name);
    }
    return tags;
}

}  // namespace

EventFile::EventFile(const std::string& run_dir,
                     std::optional<std::int64_t> resumed_step,
                     const RunFacts& facts,
                     Print print)
    : folder_{run_dir + "/" + events_folder}, fields_{facts.fields}, print_{std::move(print)} {
    for (int i = 0; i < num_stalls; ++i) {
        stall_tags_.push_back(fmt::format("stall/{}_pct", name_of(static_cast<Stall>(i))));
    }
    reopen();
    if (resumed_step) {
        write(restart_record(calendar_seconds(), *resumed_step));
    }
}

void EventFile::reopen() {
    make_folder(folder_);
    const auto path = new_path(folder_);
    file_.replace(open_for_writing(path, OpenMode::append), path);
    write(version_record(calendar_seconds()));
}

void EventFile::step(const StepReport& report) {
    values_.clear();
    const auto add = [&](std::string_view tag, double value) { values_.push_back({tag, value}); };
    if (report.loss) {
        add("loss/train", *report.loss);
    }
    const auto& tags = source_tags("loss/train/", report.loss_by_source, train_tags_);
    for (std::size_t i = 0; i < tags.size(); ++i) {
        if (const auto mean = report.loss_by_source[i].mean()) {
            add(tags[i], *mean);
        }
    }
    if (report.rewards) {
        add("reward/margin", report.rewards->margin());
        add("reward/accuracy", report.rewards->accuracy);
        add("reward/chosen", report.rewards->chosen);
        add("reward/rejected", report.rewards->rejected);
    }
    add("optim/lr", report.lr);
    add("optim/grad_norm", report.grad_norm);
    add("optim/skipped", static_cast<double>(report.skipped));
    add("perf/tokens_per_s", report.tok_s);
    add("perf/step_s", report.step_s);
    if (report.mfu) {
        add("perf/mfu", *report.mfu);
    }
    for (std::size_t i = 0; i < stall_tags_.size(); ++i) {
        if (fields_.stalls[i] && report.step_s > 0) {
            add(stall_tags_[i], 100 * report.stall_s[i] / report.step_s);
        }
    }
    add("memory/device_gib", static_cast<double>(report.device_peak_bytes) / bytes_of_gib);
    if (fields_.host) {
        add("memory/host_gib", static_cast<double>(report.host_peak_bytes) / bytes_of_gib);
    }
    if (fields_.nvme) {
        add("memory/nvme_gib", static_cast<double>(report.nvme_bytes) / bytes_of_gib);
    }
    add("data/tokens", static_cast<double>(report.tokens));
    write(scalars_record(calendar_seconds(), report.step, values_));
}

void EventFile::validate(const ValidationReport& report) {
    if (!report.loss) {
        return;
    }
    values_.assign(1, {"loss/validation", *report.loss});
    if (report.rewards) {
        values_.push_back({"reward/validation_margin", report.rewards->margin()});
        values_.push_back({"reward/validation_accuracy", report.rewards->accuracy});
        values_.push_back({"reward/validation_chosen", report.rewards->chosen});
        values_.push_back({"reward/validation_rejected", report.rewards->rejected});
    }
    if (report.average_loss) {
        values_.push_back({"loss/validation_average", *report.average_loss});
    }
    const auto& tags = source_tags("loss/validation/", report.loss_by_source, validation_tags_);
    for (std::size_t i = 0; i < tags.size(); ++i) {
        if (const auto mean = report.loss_by_source[i].mean()) {
            values_.push_back({tags[i], *mean});
        }
    }
    write(scalars_record(calendar_seconds(), report.step, values_));
}

void EventFile::norms(std::int64_t step, std::span<const UnitNorms> units) {
    if (norm_tags_.empty()) {
        for (const auto& kind : norm_kinds) {
            for (const auto& unit : units) {
                norm_tags_.push_back(fmt::format("norms/{}/{}", kind.name, unit.unit));
            }
        }
    }
    values_.clear();
    auto tag = norm_tags_.begin();
    for (const auto& kind : norm_kinds) {
        for (const auto& unit : units) {
            values_.push_back({*tag++, unit.*kind.norm});
        }
    }
    write(scalars_record(calendar_seconds(), step, values_));
}

void EventFile::write(const std::string& record) {
    if (const auto message = file_.write(record); message && print_) {
        print_(message->severity, message->text);
    }
}

}  // namespace ziggurat::train
