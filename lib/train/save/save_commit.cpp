#include "train/save/save_commit.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text/message.hpp"
#include "storage/directory.hpp"
#include "train/report/run_context.hpp"
#include "train/report/shard_summaries.hpp"
#include "train/save/data_guard.hpp"
#include "train/save/resumed_data.hpp"

namespace ziggurat::train {
namespace {

/// Returns the parallel layout that wrote a checkpoint, in human-readable form.
std::string layout_line(const spec::RunSpec& spec) {
    const auto& p = spec.parallel;
    return fmt::format(
        "{} rank{}: tensor {}, context {}, data {}, pipeline {}; spans {} (parameters), {} (gradients), "
        "{} (optimizer)",
        p.ranks, p.ranks == 1 ? "" : "s", p.tensor_degree(), p.context, p.data_degree(), p.stages,
        spec.sharding.parameters, spec.sharding.gradients, spec.sharding.optimizer);
}

/// Flushes `file` if it is open. Returns a warning if that fails, otherwise an empty string.
std::string flush_or_warn(const FileHandle& file, const std::string& path) {
    try {
        if (file) {
            storage::flush_file(file.get(), path);
        }
        return "";
    } catch (const Error& error) {
        return message(Severity::warning, error.what()) + "\n";
    }
}

}  // namespace

checkpoint::Manifest manifest_of_save(const spec::RunSpec& spec,
                                      const RunContext& context,
                                      int ranks,
                                      const checkpoint::TrainingProgress& progress,
                                      const DataGuard* data) {
    checkpoint::Manifest manifest;
    manifest.program = context.version;
    manifest.progress = progress;
    manifest.deck = context.effective_deck;
    manifest.layout = layout_line(spec);
    manifest.ranks = ranks;
    if (data != nullptr) {
        manifest.data = for_manifest(data->files(), context.secrets);
    }
    return manifest;
}

CommittedSave commit_save(checkpoint::Commit& commit,
                          checkpoint::Manifest manifest,
                          const std::vector<std::string>& shards,
                          const spec::Checkpoint& keep,
                          const std::vector<std::int64_t>& best,
                          const FileHandle& metrics,
                          const std::string& metrics_path) {
    const auto begin_ns = monotonic_ns();
    CommittedSave done;
    done.notes = flush_or_warn(metrics, metrics_path);
    done.seconds = add_shards(shards, manifest);
    expect_files_here(commit.folder(), manifest, seconds_until_files_appear);
    const bool is_broken = manifest.progress.skipped_in_a_row > 0;
    const auto notes = commit.finish(std::move(manifest),
                                     {.last = is_broken ? checkpoint::RetentionPolicy::all : keep.keep_last,
                                      .every_steps = keep.keep_every_steps,
                                      .best = best});
    done.seconds += seconds_between(begin_ns, monotonic_ns());
    for (const auto& note : notes) {
        done.notes += message(Severity::note, note) + "\n";
    }
    return done;
}

}  // namespace ziggurat::train
