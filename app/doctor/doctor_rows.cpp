/// Table row of the command that checks the environment of a training: doctor.
#include <filesystem>
#include <system_error>

#include "app/command_line/option_rows.hpp"
#include "app/doctor/doctor_options.hpp"

namespace ziggurat::app {

namespace {

/// Returns true if `value` is an override such as `train.steps=6` and not the path of an existing file.
bool is_override(const std::string& value) {
    constexpr const char* letters = "abcdefghijklmnopqrstuvwxyz0123456789_.[]";
    const auto end = value.find_first_not_of(letters);
    std::error_code unreadable;
    return end != std::string::npos && end > 0 && value[end] == '=' &&
           !std::filesystem::exists(value, unreadable);
}

}  // namespace

CommandRowOf<DoctorOptions> doctor_row() {
    return {
        .name = "doctor",
        .doc = "Checks machine, launch and folders, and suggests fixes.",
        .positionals = {{"[FOLDER|DECK|KEY=VALUE]...",
                         "a folder for runs or NVMe state, or a deck, whose folders and data are checked; "
                         "overrides apply to all decks",
                         [](DoctorOptions& options, const std::string& value) {
                             (is_override(value) ? options.overrides : options.paths).push_back(value);
                         }}},
        .options = {flag("--mpi", &DoctorOptions::mpi,
                         "check on all ranks that mpirun or srun started; rank 0 prints the results "
                         "(without --mpi, MPI is not started)"),
                    flag("--json", &DoctorOptions::json, "print one JSON object instead of lines")},
        .examples = {
            {"ziggurat doctor decks/quickstart.yaml /nvme0", "this machine, a deck's folders and /nvme0"},
            {"mpirun -n 2 ziggurat doctor --mpi decks/quickstart.yaml", "the launch of a training"},
            {"srun --mpi=pmix ziggurat doctor --mpi --json runs", "all nodes of a job, for a script"}}};
}

}  // namespace ziggurat::app
