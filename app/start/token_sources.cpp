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
#include "data/token_source.hpp"
#include "data/train_validation_overlap.hpp"
#include "train/control/stop_signals.hpp"
#include "train/control/work_stop.hpp"

namespace ziggurat::app {
namespace {

/// Returns reports of the encoding of conversations: a note, and a progress line.
///
/// \param progress  must outlive them
data::SampleFileReports encoding_reports(Progress& progress, const StopCheck& stop) {
    data::SampleFileReports reports;
    reports.of_job.stop = stop;
    reports.begins = [&](const std::string& records, const std::string& samples, bool has_others) {
        const auto note = fmt::format(
            "'{}' is encoded to '{}', which later runs use{}", printable(records), printable(samples),
            has_others ? ". Other samples exist, of other records, another tokenizer or template, "
                         "another loss_on or version of the encoder"
                       : "");
        std::fputs((message(Severity::note, note) + "\n").c_str(), stderr);
        progress.begin("encodes conversations", "bytes");
    };
    reports.of_job.progress = [&](std::int64_t done, std::int64_t all) { progress.is_at(done, all); };
    reports.of_job.note = [&](const std::string& note) {
        progress.end();
        std::fputs((message(Severity::note, note) + "\n").c_str(), stderr);
    };
    return reports;
}

deck::SourceFacts facts_of(const spec::Data& data,
                           const spec::Source& source,
                           const std::string& key,
                           const StopCheck& stop) {
    Progress progress{show_progress()};
    const bool is_trained = key.starts_with("data.train");
    const auto opened = data::open_arranged(data, source, key, is_trained ? data.held_out : 0,
                                            encoding_reports(progress, stop));
    deck::SourceFacts facts{.tokens = opened->num_tokens()};
    for (const auto& file : opened->files()) {
        if (!file.is_index) {
            facts.files.push_back(file.file->path());
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
                        .fill = packed->fill(),
                        .has_pairs = opened->num_pairs() > 0};
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

deck::SourceFacts read_source(const spec::Data& data, const spec::Source& source, const std::string& key) {
    const train::StopSignals signals;
    const train::WorkStop stop{signals};
    return facts_of(data, source, key, stop.check_of("reads the sources of the deck"));
}

bool has_token(const spec::Source& source, const std::string& key, std::int64_t token) {
    return is_among_first(source, key, token, {});
}

std::vector<deck::FileOverlap> find_train_validation_overlap(const std::vector<std::string>& validated,
                                                             const std::vector<std::string>& trained) {
    return find_overlap(validated, trained, {});
}

void read_sources(deck::LoadOptions& options, const StopCheck& stop) {
    options.read_source = [stop](const auto& data, const auto& source, const auto& key) {
        return facts_of(data, source, key, stop);
    };
    options.has_token = [stop](const auto& source, const auto& key, std::int64_t token) {
        return is_among_first(source, key, token, stop);
    };
    options.find_train_validation_overlap = [stop](const auto& validated, const auto& trained) {
        return find_overlap(validated, trained, stop);
    };
}

}  // namespace ziggurat::app
