#include "train/save/data_guard.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text/message.hpp"
#include "base/text/printable.hpp"
#include "base/text/units.hpp"
#include "comm/control.hpp"
#include "comm/throw_on_all_ranks.hpp"
#include "train/report/reporter.hpp"

namespace ziggurat::train {
namespace {

using nlohmann::json;

constexpr std::int64_t look_every_ns = 5'000'000'000;
/// The check takes at most 1/look_share of the time.
constexpr int look_share = 100;
constexpr std::size_t max_reported = 4;

std::string text_of(const std::string& host, const std::vector<data::FileFingerprint>& files) {
    json rows = json::array();
    for (const auto& file : files) {
        rows.push_back({file.key, file.path, file.bytes, file.hashed_bytes, file.hash});
    }
    return json{{"host", host}, {"files", std::move(rows)}}.dump(-1, ' ', false,
                                                                 json::error_handler_t::replace);
}

DataOfNode parse_node(const std::string& text, int first_rank) {
    const auto written = json::parse(text);
    DataOfNode node{.first_rank = first_rank, .host = written["host"], .files = {}};
    for (const auto& row : written["files"]) {
        node.files.push_back({row[0], row[1], row[2], row[3], row[4]});
    }
    return node;
}

/// Returns a hash that is equal on nodes with the same data.
///
/// The list of files is sent only if hashes differ.
std::string digest_of(const std::vector<data::FileFingerprint>& files) {
    const std::string text = text_of("", files);
    return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

std::string size_text(std::int64_t bytes) {
    return bytes < 0 ? std::string{"missing"} : format_grouped(bytes) + " bytes";
}

/// Errors: on all ranks, the error of the first rank that has one, as Error{deck}; Stopped
void on_every_rank(const comm::Context& world, const std::function<void()>& open) {
    std::string problem;
    comm::stop_on_all_ranks(world, [&] {
        try {
            open();
        } catch (const Error& error) {
            problem = error.what();
        }
    });
    problem = comm::first_text(world, problem);
    if (!problem.empty()) {
        throw Error{ErrorKind::deck, problem};
    }
}

std::string name_of(const DataOfNode& node) {
    return fmt::format("rank {} on {}", node.first_rank, printable(node.host));
}

}  // namespace

data::Corpus open_corpus(const spec::RunSpec& spec,
                         const comm::Context& world,
                         const data::OpenSource& open,
                         const StopCheck& stop) {
    std::optional<data::Corpus> corpus;
    on_every_rank(world, [&] {
        corpus.emplace(spec.data, spec.model.vocab, spec.run.seed, open, data::Rest::left_out, stop,
                       spec.run.dir);
    });
    return std::move(*corpus);
}

std::string describe_different_data(const std::vector<DataOfNode>& nodes) {
    const DataOfNode& first = nodes.front();
    std::vector<data::FileChange> different;  // each file once, as on the first node that differs
    for (const DataOfNode& node : nodes) {
        for (auto& change : data::changes(first.files, node.files)) {
            const bool is_known = std::ranges::any_of(different, [&](const data::FileChange& known) {
                return known.key == change.key && known.path == change.path;
            });
            if (!is_known) {
                different.push_back(std::move(change));
            }
        }
    }
    if (different.empty()) {
        return "";
    }
    const auto& reported = different.front();
    std::vector<std::string> others;
    std::size_t unreported = 0;
    for (const DataOfNode& node : nodes) {
        for (const auto& change : data::changes(first.files, node.files)) {
            if (change.key == reported.key && change.path == reported.path) {
                const bool is_of_size = change.bytes_after == change.bytes_before;
                const auto size =
                    is_of_size ? std::string{"same size, but other bytes"} : size_text(change.bytes_after);
                if (others.size() < max_reported) {
                    others.push_back(size + " for " + name_of(node));
                } else {
                    ++unreported;
                }
            }
        }
    }
    std::string text =
        fmt::format("{}: '{}' is not the same on all nodes ({} for {}; {}{}).", reported.key,
                    printable(reported.path), size_text(reported.bytes_before), name_of(first),
                    fmt::join(others, "; "), unreported > 0 ? fmt::format("; {} more", unreported) : "");
    if (different.size() > 1) {
        std::vector<std::string> names;
        for (std::size_t i = 1; i < std::min(different.size(), max_reported); ++i) {
            names.push_back("'" + printable(different[i].path) + "'");
        }
        text += fmt::format(" The same applies to {}{}.", fmt::join(names, ", "),
                            different.size() > max_reported
                                ? fmt::format(" and {} more", different.size() - max_reported)
                                : "");
    }
    return text + " Copy one version to every node, or name files on storage that all nodes share.";
}

DataGuard::DataGuard(const data::Corpus& corpus,
                     const comm::NodeTopology& nodes,
                     const comm::Context& world,
                     Reporter& reporter,
                     const StopCheck& stop)
    : reporter_{reporter}, is_reporting_{world.rank() == 0}, next_look_ns_{monotonic_ns() + look_every_ns} {
    const bool is_first = nodes.rank_in_node == 0;
    comm::stop_on_all_ranks(world, [&] {
        if (is_first) {
            files_ = data::fingerprints(corpus.files(), stop);
            watch_.emplace(corpus.files(), files_);
        }
    });
    const auto digest = digest_of(files_);
    const bool differs = comm::broadcast(world, digest) != digest && is_first;
    std::array<std::int64_t, 1> different{differs ? 1 : 0};
    comm::all_reduce_sum(world, different);
    if (different[0] == 0) {
        return;
    }
    const bool tells = differs || world.rank() == 0;
    const auto texts = comm::gather(world, tells ? text_of(comm::machine_name(), files_) : "");
    std::vector<DataOfNode> read;
    for (std::size_t rank = 0; rank < texts.size(); ++rank) {
        if (!texts[rank].empty()) {
            read.push_back(parse_node(texts[rank], static_cast<int>(rank)));
        }
    }
    const auto problem = comm::broadcast(world, world.rank() == 0 ? describe_different_data(read) : "");
    throw Error{ErrorKind::deck, problem};
}

void DataGuard::check_now() {
    if (!watch_) {
        return;
    }
    const std::int64_t begin_ns = monotonic_ns();
    for (const auto& warning : watch_->check_now()) {
        const auto line = message(Severity::warning, warning);
        if (is_reporting_) {
            reporter_.print_line(line);
        } else {
            std::fputs((line + "\n").c_str(), stderr);
        }
    }
    const std::int64_t now_ns = monotonic_ns();
    next_look_ns_ = now_ns + std::max(look_every_ns, look_share * (now_ns - begin_ns));
}

void DataGuard::look_at_times() {
    if (watch_ && monotonic_ns() >= next_look_ns_) {
        check_now();
    }
}

}  // namespace ziggurat::train
