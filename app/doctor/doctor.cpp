#include <cstdio>
#include <vector>

#include "app/command_line/version.hpp"
#include "app/doctor/doctor_folders.hpp"
#include "app/doctor/doctor_local.hpp"
#include "app/doctor/doctor_options.hpp"
#include "app/doctor/doctor_ranks.hpp"
#include "app/start/available_cores.hpp"
#include "app/start/job_start.hpp"
#include "comm/built_with.hpp"
#include "doctor/launch_checks.hpp"
#include "train/on_ranks.hpp"
#include "train/step/rank_threads.hpp"

namespace ziggurat::app {
namespace {

int doctor_here(const DoctorOptions& options) {
    DoctorTargets subjects;
    std::vector<SharedDeck> decks;
    const deck::LoadOptions launch{.has_nccl = comm::has_nccl, .threads = threads_if_started(0)};
    if (const int refused = find_subjects(options.paths, options.overrides, launch, subjects, decks);
        refused != 0) {
        return refused;
    }
    const auto mine = train::usable_cores();
    const doctor::RankCores cores{.cpus = mine,
                                  .core_of = cores_of(mine),
                                  .job_cores = cores_of_job(),
                                  .threads = threads_asked(),
                                  .core_limit = train::control_group_core_limit()};
    auto all = examine_launcher();
    doctor::append(all, doctor::diagnose_cores({cores}));
    doctor::append(all, {doctor::diagnose_builds({version()}, {"this machine"})});
    doctor::append(all, examine_process({}));
    doctor::append(all, examine_node({}));
    doctor::append(all, subjects.of_decks);
    doctor::append(all, examine_folders(subjects.folders));
    std::fputs((options.json ? doctor::as_json(all) : doctor::as_text(all)).c_str(), stdout);
    return doctor::exit_code(all);
}

}  // namespace

int doctor(const DoctorOptions& options) {
    return options.mpi
               ? train::on_ranks([&](const comm::Context& world) { return doctor_on_ranks(options, world); })
               : doctor_here(options);
}

}  // namespace ziggurat::app
