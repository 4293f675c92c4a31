#include "checkpoint/manifest.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "checkpoint/manifest_text.hpp"
#include "checkpoint/shard/shard_file.hpp"

namespace ziggurat::checkpoint {
namespace {

using Json = nlohmann::ordered_json;
using Key = std::tuple<PieceKind, std::string>;

/// The tensors of a list of pieces, each once, in the order of their first piece.
class TensorList {
  public:
    std::size_t index_of(const Piece& piece) {
        const auto [at, is_new] = index_.try_emplace(Key{piece.kind, piece.tensor}, index_.size());
        if (is_new) {
            json_.push_back({{"kind", to_string(piece.kind)},
                             {"name", piece.tensor},
                             {"shape", piece.shape},
                             {"type", piece.type == spec::DType::f32 ? "f32" : "bf16"}});
        }
        return at->second;
    }
    const Json& json() const { return json_; }

  private:
    std::map<Key, std::size_t> index_;
    Json json_ = Json::array();
};

Json to_json(const data::DataOrderState& order) {
    Json sources = Json::array();
    for (const auto& source : order.sources) {
        Json changes = Json::array();
        for (const auto& [sample, weight] : source.changes) {
            changes.push_back({sample, weight});
        }
        sources.push_back({{"weight", source.weight},
                           {"tokens", source.tokens},
                           {"trained", source.trained},
                           {"stream", source.stream},
                           {"epoch", source.begin.epoch},
                           {"tokens_of_epoch", source.begin.tokens},
                           {"changes", std::move(changes)},
                           {"earlier", source.earlier},
                           {"reached", source.reached}});
        if (source.is_packed) {
            sources.back()["packed"] = true;
        }
    }
    return {{"first_sample", order.first_sample},
            {"seq", order.seq},
            {"seed", order.seed},
            {"shuffle", order.is_shuffled},
            {"mix", order.mix == data::MixRule::even ? "even" : "nested"},
            {"reached_sample", order.reached_sample},
            {"sources", std::move(sources)}};
}

Json to_json(const Manifest& manifest) {
    TensorList tensors;
    Json pieces = Json::array();
    for (const StoredPiece& stored : manifest.pieces) {
        pieces.push_back({tensors.index_of(stored.piece), stored.piece.box.begin, stored.piece.box.extent,
                          stored.file, stored.offset_bytes, stored.table_offset_bytes,
                          hex_of_hash(stored.hash_of_table)});
    }
    Json files = Json::array();
    for (const FileEntry& file : manifest.files) {
        files.push_back(
            {{"name", file.name}, {"bytes", file.bytes}, {"hash_of_rest", hex_of_hash(file.hash_of_rest)}});
    }
    Json data = Json::array();
    for (const data::FileFingerprint& file : manifest.data) {
        data.push_back({{"key", file.key},
                        {"path", file.path},
                        {"bytes", file.bytes},
                        {"hashed_bytes", file.hashed_bytes},
                        {"hash", hex_of_hash(file.hash)}});
    }
    const TrainingProgress& progress = manifest.progress;
    Json on_progress = {{"step", progress.step},
                        {"tokens", progress.tokens},
                        {"next_sample", progress.next_sample},
                        {"skipped", progress.skipped},
                        {"skipped_in_a_row", progress.skipped_in_a_row},
                        {"seconds", progress.seconds}};
    if (const StepIncrements& pace = progress.pace; pace.is_known()) {
        on_progress["pace"] = {{"from_step", pace.from_step},
                               {"from_tokens", pace.from_tokens},
                               {"from_sample", pace.from_sample},
                               {"samples_per_step", pace.samples_per_step},
                               {"tokens_per_step", pace.tokens_per_step}};
    }
    if (const RecentSteps& recent = progress.recent; !recent.losses.empty()) {
        on_progress["recent"] = {{"losses", recent.losses},
                                 {"grad_norms", recent.grad_norms},
                                 {"spikes_in_a_row", recent.spikes_in_a_row}};
    }
    if (const LrScheduleState& course = progress.course; course.is_known()) {
        on_progress["course"] = {{"begin_step", course.begin_step},
                                 {"begin_tokens", course.begin_tokens},
                                 {"end_step", course.end_step},
                                 {"end_tokens", course.end_tokens},
                                 {"next_rate", course.next_rate}};
    }
    if (progress.grad_norm > 0) {
        on_progress["grad_norm"] = progress.grad_norm;
    }
    if (progress.order.is_known()) {
        on_progress["order"] = to_json(progress.order);
    }
    return {{"format", format_name},
            {"version", format_version},
            {"program", manifest.program},
            {"progress", std::move(on_progress)},
            {"ranks", manifest.ranks},
            {"layout", manifest.layout},
            {"deck", manifest.deck},
            {"data", std::move(data)},
            {"files", std::move(files)},
            {"tensors", tensors.json()},
            {"piece_fields", "tensor, begin, extent, file, offset_bytes, table_offset_bytes, hash_of_table"},
            {"pieces", std::move(pieces)}};
}

}  // namespace

std::string hex_of_hash(std::uint64_t hash) {
    return fmt::format("{:016x}", hash);
}

StepIncrements increments_from(const TrainingProgress& before,
                               std::int64_t samples_per_step,
                               std::int64_t tokens_per_step) {
    const StepIncrements& known = before.pace;
    if (known.samples_per_step == samples_per_step && known.tokens_per_step == tokens_per_step) {
        return known;
    }
    return {before.step, before.tokens, before.next_sample, samples_per_step, tokens_per_step};
}

std::int64_t table_bytes(const Piece& piece) noexcept {
    return (piece.bytes() + hash_block_bytes - 1) / hash_block_bytes *
           static_cast<std::int64_t>(sizeof(std::uint64_t));
}

std::string to_text(const Manifest& manifest) {
    // One line per part and per piece, so that changes are readable in a diff.
    std::string text = "{";
    const Json json = to_json(manifest);
    for (const auto& [key, value] : json.items()) {
        text += Json(key).dump() + ": ";
        if (value.is_array() && !value.empty()) {
            text += "[";
            for (const Json& element : value) {
                text += "\n" + element.dump(-1, ' ', false, Json::error_handler_t::replace) + ",";
            }
            text.back() = ']';
        } else {
            text += value.dump(-1, ' ', false, Json::error_handler_t::replace);
        }
        text += ",\n";
    }
    const std::uint64_t hash = XXH3_64bits(text.data(), text.size());
    return text.append(hash_begin).append(hex_of_hash(hash)).append(hash_end);
}

}  // namespace ziggurat::checkpoint
