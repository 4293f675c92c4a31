#include "app/start/token_sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "app/output/output_style.hpp"
#include "base/error.hpp"
#include "base/text/message.hpp"
#include "base/text/printable.hpp"
#include "data/file_probe.hpp"
#include "data/pack/open_arranged.hpp"
#include "data/pack/target_count.hpp"
#include "data/token_source.hpp"
#include "data/train_validation_overlap.hpp"
#include "train/control/stop_signals.hpp"
#include "train/control/work_stop.hpp"

namespace ziggurat::app {
namespace {

std::string note_of(const data::SamplesToMake& samples) {
    const auto reason = samples.reason.empty() ? "" : fmt::format(" ({})", samples.reason);
    if (!samples.is_kept) {
        return fmt::format("'{}' is encoded for this command only{}; a training keeps the samples as '{}'",
                           printable(samples.records), reason, printable(samples.path));
    }
    return fmt::format("'{}' is encoded to '{}', which later runs use{}{}", printable(samples.records),
                       printable(samples.path), reason,
                       samples.has_others
                           ? ". Other samples exist, of other records, another tokenizer or template, "
                             "another loss_on or version of the encoder"
                           : "");
}

/// Returns the options of the encoding of conversations. They print notes, and a progress line.
///
/// \param progress  must outlive them
data::SampleFileOptions encoding_options(Progress& progress, const StopCheck& stop) {
    data::SampleFileOptions options{.checks_all = true};
    options.of_job.stop = stop;
    options.begins = [&](const data::SamplesToMake& samples) {
        std::fputs((message(Severity::note, note_of(samples)) + "\n").c_str(), stderr);
        progress.begin("encodes conversations", "bytes");
    };
    options.of_job.progress = [&](std::int64_t done, std::int64_t all) { progress.is_at(done, all); };
    options.of_job.note = [&](const std::string& note) {
        progress.end();
        std::fputs((message(Severity::note, note) + "\n").c_str(), stderr);
    };
    return options;
}

/// \param keeps  as in data::SampleFileOptions
deck::SourceFacts facts_of(const spec::RunSpec& run,
                           const spec::Source& source,
                           const std::string& key,
                           bool keeps,
                           const StopCheck& stop) {
    Progress progress{show_progress()};
    const auto& data = run.data;
    const double held_out = key.starts_with("data.train") ? data.held_out : 0;
    auto options = encoding_options(progress, stop);
    options.keeps = keeps;
    options.other_folder = run.run.dir;
    const auto opened = data::open_arranged(data, source, key, held_out, options);
    deck::SourceFacts facts{.tokens = opened->num_tokens()};
    if (source.format == spec::TokenFormat::chat) {
        facts.files = data::expand_paths(source.path, key);  // records have the same content as their samples
    } else {
        for (const auto& file : opened->files()) {
            if (!file.is_index) {
                facts.files.push_back(file.file->path());
            }
        }
    }
    if (const auto packed = opened->sequences()) {
        facts.packed = {.samples = packed->num_samples,
                        .cut = packed->num_cut,
                        .dropped = packed->num_dropped,
                        .trained = packed->num_trained,
                        .held_out = packed->num_held_out,
                        .without_target = packed->num_without_target,
                        .held_out_samples = packed->num_held_out_samples,
                        .held_out_without_target = packed->num_held_out_without_target,
                        .without_flag = packed->num_without_flag,
                        .fill = packed->fill(),
                        .has_pairs = opened->num_pairs() > 0};
    }
    if (const auto targets = data::count_targets(*opened, data, held_out, stop)) {
        facts.targets = {
            .trained = targets->trained, .held_out = targets->held_out, .is_exact = targets->is_exact};
    }
    if (auto doubt = data::check_format(source, *opened)) {
        facts.doubt = {std::move(doubt->path), std::move(doubt->reason), std::move(doubt->remedy)};
    }
    return facts;
}

bool is_among_first(const spec::Source& source,
                    const std::string& key,
                    std::int64_t token,
                    const StopCheck& stop) {
    constexpr std::int64_t max_read = std::int64_t{1} << 26;
    constexpr std::int64_t read_at_once = std::int64_t{1} << 16;
    try {
        const auto opened = data::open_source(source, key);
        const auto end = std::min(opened->num_tokens(), max_read);
        std::vector<std::int32_t> part;
        for (std::int64_t begin = 0; begin < end; begin += read_at_once) {
            check(stop);
            part.resize(std::min(read_at_once, end - begin));
            opened->read(begin, part);
            if (std::ranges::find(part, token) != part.end()) {
                return true;
            }
        }
        return false;
    } catch (const Error& problem) {
        if (problem.kind() != ErrorKind::deck) {
            throw;
        }
        return true;
    }
}

std::vector<deck::FileOverlap> find_overlap(const std::vector<std::string>& validated,
                                            const std::vector<std::string>& trained,
                                            const StopCheck& stop) {
    std::vector<deck::FileOverlap> shared;
    for (const auto& file : data::find_train_validation_overlap(validated, trained, stop)) {
        shared.push_back({file.validated, file.trained, file.is_copy});
    }
    return shared;
}

}  // namespace

deck::SourceFacts read_source(const spec::RunSpec& run, const spec::Source& source, const std::string& key) {
    const train::StopSignals signals;
    const train::WorkStop stop{signals};
    return facts_of(run, source, key, false, stop.check_of("reads the sources of the deck"));
}

bool has_token(const spec::Source& source, const std::string& key, std::int64_t token) {
    return is_among_first(source, key, token, {});
}

std::vector<deck::FileOverlap> find_train_validation_overlap(const std::vector<std::string>& validated,
                                                             const std::vector<std::string>& trained) {
    return find_overlap(validated, trained, {});
}

void read_sources(deck::LoadOptions& options, const StopCheck& stop) {
    options.read_source = [stop](const auto& run, const auto& source, const auto& key) {
        return facts_of(run, source, key, true, stop);
    };
    options.has_token = [stop](const auto& source, const auto& key, std::int64_t token) {
        return is_among_first(source, key, token, stop);
    };
    options.find_train_validation_overlap = [stop](const auto& validated, const auto& trained) {
        return find_overlap(validated, trained, stop);
    };
}

}  // namespace ziggurat::app
