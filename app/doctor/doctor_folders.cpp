#include "app/doctor/doctor_folders.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "app/start/run_folder.hpp"
#include "app/start/token_sources.hpp"
#include "app/start/tokenizers.hpp"
#include "checkpoint/checkpoint_folder.hpp"
#include "plan/checkpoint_size.hpp"
#include "storage/directory_probe.hpp"
#include "train/resume/lost_checkpoints.hpp"

namespace ziggurat::app {
namespace {

namespace fs = std::filesystem;

/// Returns an error if `folder` is that of a run whose checkpoints cannot be reached or are missing.
doctor::Diagnoses examine_checkpoints(const FolderToExamine& folder) {
    constexpr const char* check = "checkpoints";
    if (folder.use == doctor::FolderUse::nvme) {
        return {};
    }
    if (const auto target = train::dangling_checkpoints(folder.path); !target.empty()) {
        return {doctor::error(
            check, fmt::format("'{}/ckpt' is a link to '{}', which is not there", folder.path, target),
            "Mount its disk, or correct or remove the link.")};
    }
    const auto root = (fs::path{folder.path} / "ckpt").string();
    std::error_code unreadable;
    const bool has_any = fs::is_directory(root, unreadable) && !checkpoint::list_complete(root).empty();
    if (const auto evidence = has_any ? std::string{} : train::evidence_of_saves(folder.path);
        !evidence.empty()) {
        return {doctor::error(check,
                              fmt::format("the checkpoints of '{}' are missing ({})", folder.path, evidence),
                              "Mount their disk, or restore them. run.resume=never starts from scratch.")};
    }
    return {};
}

doctor::Diagnoses examine(const FolderToExamine& folder) {
    std::error_code problem;
    const bool is_present = fs::exists(folder.path, problem);
    const auto tried = is_present ? folder.path : first_that_is_there(folder.path);
    const auto system = storage::file_system_of(tried);
    const auto trial = storage::probe_directory(tried);
    const doctor::FolderFacts facts{.path = folder.path,
                                    .use = folder.use,
                                    .problem = trial.no_file_reason,
                                    .stands_in = is_present ? "" : tried,
                                    .file_system = system.name,
                                    .is_network = system.is_network,
                                    .is_memory = system.is_memory,
                                    .free_bytes = system.free_bytes,
                                    .has_size = system.has_size,
                                    .needed_bytes = folder.needed_bytes,
                                    .not_direct_reason = trial.not_direct_reason,
                                    .damage = trial.damage};
    doctor::Diagnoses found{doctor::diagnose_folder(facts)};
    if (!trial.no_file_reason.empty()) {
        return found;
    }
    if (!system.is_memory) {
        found.push_back(doctor::diagnose_direct(facts));
    }
    if (folder.use != doctor::FolderUse::nvme) {
        const char* setting = std::getenv("HDF5_USE_FILE_LOCKING");
        found.push_back(doctor::diagnose_locks({.path = folder.path,
                                                .problem = trial.no_lock_reason,
                                                .has_no_locks = trial.has_no_locks,
                                                .setting = setting == nullptr ? "" : setting,
                                                .asks_for_none = storage::asks_hdf5_for_no_locks()}));
    }
    return found;
}

/// Returns true if `value` is a file, or has the suffix of a deck and is not a folder.
bool names_a_deck(const std::string& value) {
    std::error_code unreadable;
    const auto ending = fs::path{value}.extension();
    return fs::is_regular_file(value, unreadable) ||
           (!fs::is_directory(value, unreadable) &&
            (ending == ".yaml" || ending == ".yml" || ending == ".json"));
}

/// Adds run.dir and tiers.nvme.paths of `run`.
void add_folders(const spec::RunSpec& run, std::vector<FolderToExamine>& folders) {
    const auto needed = run.checkpoint.every ? plan::checkpoint_size(run).bytes_at_most : 0;
    folders.push_back({run.run.dir, doctor::FolderUse::run, needed});
    for (const auto& path : run.tiers.nvme_paths) {
        folders.push_back({.path = path, .use = doctor::FolderUse::nvme});
    }
}

/// Returns the errors of loading a valid deck, such as missing data.
///
/// Without errors, returns the number of its data sources.
doctor::Diagnoses examine_deck(const std::string& name, const deck::LoadedDeck& loaded) {
    constexpr const char* check = "deck";
    doctor::Diagnoses found;
    for (const auto& problem : loaded.found.sorted()) {
        if (problem.severity == Severity::error) {
            const auto reason = problem.reason.empty() ? "" : " (" + problem.reason + ")";
            found.push_back(doctor::error(check, problem.at.text() + ": " + problem.problem + reason,
                                          problem.advice.empty() ? "Fix the deck." : problem.advice));
        }
    }
    if (found.empty()) {
        const auto num_sources = loaded.run.data.train.size() + loaded.run.data.validation.size();
        found.push_back(doctor::ok_diagnosis(
            check, fmt::format("'{}': its data exist, {}", name,
                               num_sources == 1 ? "1 source" : fmt::format("{} sources", num_sources))));
        found.back().subject = name;
    }
    return found;
}

void take_deck(const std::string& name, const deck::LoadedDeck& loaded, DoctorTargets& subjects) {
    doctor::append(subjects.of_decks, examine_deck(name, loaded));
    if (loaded.ok()) {
        add_folders(loaded.run, subjects.folders);
    }
}

void add_given(const std::vector<std::string>& values, std::vector<FolderToExamine>& folders) {
    for (const auto& value : values) {
        if (!names_a_deck(value)) {
            folders.push_back({.path = value});
        }
    }
}

}  // namespace

int find_subjects(const std::vector<std::string>& values,
                  const std::vector<std::string>& overrides,
                  const deck::LoadOptions& options,
                  DoctorTargets& subjects,
                  std::vector<SharedDeck>& decks) {
    auto asking = options;
    asking.read_tokenizer = read_tokenizer;
    asking.read_source = read_source;
    asking.find_train_validation_overlap = find_train_validation_overlap;
    for (const auto& value : values) {
        if (!names_a_deck(value)) {
            continue;
        }
        const auto loaded = deck::load(value, overrides, asking);
        if (loaded.found.exit_code() == static_cast<int>(ErrorKind::deck)) {
            std::fputs(loaded.found.print().c_str(), stderr);
            return loaded.found.exit_code();
        }
        take_deck(value, loaded, subjects);
        decks.push_back({value, loaded.ok() ? loaded.effective_for_other_folder : ""});
    }
    add_given(values, subjects.folders);
    return 0;
}

DoctorTargets find_subjects_of(const std::vector<std::string>& values,
                               const std::vector<SharedDeck>& decks,
                               const deck::LoadOptions& options) {
    DoctorTargets subjects;
    for (const auto& deck : decks) {
        if (!deck.effective.empty()) {
            take_deck(deck.name, deck::load_text(deck.effective, "the effective deck", {}, options),
                      subjects);
        }
    }
    add_given(values, subjects.folders);
    return subjects;
}

doctor::Diagnoses examine_folders(const std::vector<FolderToExamine>& folders) {
    doctor::Diagnoses all;
    for (const auto& folder : folders) {
        doctor::append(all, examine(folder));
        doctor::append(all, examine_checkpoints(folder));
    }
    return all;
}

}  // namespace ziggurat::app
