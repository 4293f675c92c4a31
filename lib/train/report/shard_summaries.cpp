#include "train/report/shard_summaries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>

#include "base/clock.hpp"
#include "base/contract.hpp"
#include "base/error.hpp"
#include "storage/directory.hpp"

namespace ziggurat::train {

using checkpoint::PieceKind;
using nlohmann::json;

std::string text_of(const checkpoint::ShardSummary& summary) {
    json pieces = json::array();
    for (const auto& stored : summary.pieces) {
        const auto& piece = stored.piece;
        pieces.push_back({static_cast<int>(piece.kind), piece.tensor, piece.shape,
                          piece.type == spec::DType::f32, piece.box.begin, piece.box.extent,
                          stored.offset_bytes, stored.table_offset_bytes, stored.hash_of_table});
    }
    const auto& entry = summary.entry;
    return json{{"name", entry.name},
                {"bytes", entry.bytes},
                {"seconds", summary.seconds},
                {"hash_of_rest", entry.hash_of_rest},
                {"pieces", std::move(pieces)}}
        .dump();
}

double add_shards(const std::vector<std::string>& texts, checkpoint::Manifest& manifest) {
    double slowest = 0;
    for (const auto& text : texts) {
        if (text.empty()) {
            continue;  // the rank has only padding
        }
        const auto shard = json::parse(text, nullptr, false);
        ZG_EXPECTS(!shard.is_discarded());
        slowest = std::max(slowest, shard.at("seconds").get<double>());
        const int file = static_cast<int>(manifest.files.size());
        manifest.files.push_back({shard.at("name").get<std::string>(), shard.at("bytes").get<std::int64_t>(),
                                  shard.at("hash_of_rest").get<std::uint64_t>()});
        for (const auto& row : shard.at("pieces")) {
            checkpoint::StoredPiece stored;
            stored.piece.kind = static_cast<PieceKind>(row.at(0).get<int>());
            stored.piece.tensor = row.at(1).get<std::string>();
            stored.piece.shape = row.at(2).get<std::vector<std::int64_t>>();
            stored.piece.type = row.at(3).get<bool>() ? spec::DType::f32 : spec::DType::bf16;
            stored.piece.box.begin = row.at(4).get<std::vector<std::int64_t>>();
            stored.piece.box.extent = row.at(5).get<std::vector<std::int64_t>>();
            stored.file = file;
            stored.offset_bytes = row.at(6).get<std::int64_t>();
            stored.table_offset_bytes = row.at(7).get<std::int64_t>();
            stored.hash_of_table = row.at(8).get<std::uint64_t>();
            manifest.pieces.push_back(std::move(stored));
        }
    }
    return slowest;
}

void expect_files_here(const std::string& folder,
                       const checkpoint::Manifest& manifest,
                       double timeout_seconds) {
    const auto begin_ns = monotonic_ns();
    const double patience = storage::is_local(folder) ? 0 : timeout_seconds;
    for (const auto& file : manifest.files) {
        const auto path = folder + "/" + file.name;
        std::error_code problem;
        while (std::filesystem::file_size(path, problem) != static_cast<std::uintmax_t>(file.bytes) ||
               problem) {
            std::error_code ignored;
            if (!std::filesystem::exists(folder, ignored)) {
                throw Error{
                    ErrorKind::resource,
                    fmt::format("'{}' was removed while the checkpoint was written. Check that no process "
                                "removes files of the run.",
                                folder)};
            }
            if (seconds_between(begin_ns, monotonic_ns()) >= patience) {
                throw Error{
                    ErrorKind::resource,
                    fmt::format(
                        "rank 0 does not see the complete file '{}' ({}). Check that no process removes "
                        "files of the run, or set run.dir to a file system that all nodes share.",
                        path, problem ? problem.message() : "it has another size")};
            }
            std::this_thread::sleep_for(std::chrono::milliseconds{20});
        }
    }
}

}  // namespace ziggurat::train
