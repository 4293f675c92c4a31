/// The command that looks for what would spoil a training.
#include <filesystem>
#include <system_error>

#include "app/option_rows.hpp"

namespace ziggurat::app {

namespace {

/// `train.steps=6`; no name of a file.
bool is_override(const std::string& word) {
    constexpr const char* letters = "abcdefghijklmnopqrstuvwxyz0123456789_.[]";
    const auto end = word.find_first_not_of(letters);
    std::error_code unreadable;
    return end != std::string::npos && end > 0 && word[end] == '=' &&
           !std::filesystem::exists(word, unreadable);
}

}  // namespace

CommandRow doctor_row() {
    return {
        .command = Command::doctor,
        .name = "doctor",
        .doc =
            "Says whether this machine, this launch and these folders are fit to train on, and what to do "
            "where they are not.",
        .positionals = {{"[FOLDER|DECK|KEY=VALUE]...",
                         "a folder that runs or NVMe state are to lie in, or a deck, whose folders and data "
                         "are looked at; an override is for all decks",
                         [](Arguments& arguments, const std::string& word) {
                             (is_override(word) ? arguments.overrides : arguments.paths).push_back(word);
                         }}},
        .options = {flag("--mpi", &Arguments::mpi,
                         "all ranks that mpirun or srun started look, and rank 0 says what they found; "
                         "without it, MPI is not started"),
                    flag("--json", &Arguments::json, "one JSON object instead of lines")},
        .examples =
            {{"ziggurat doctor decks/quickstart.yaml /nvme0", "this machine, a deck's folders, and another"},
             {"mpirun -n 2 ziggurat doctor --mpi decks/quickstart.yaml", "the launch that is to train"},
             {"srun --mpi=pmix ziggurat doctor --mpi --json runs", "all nodes of a job, for a script"}},
        .problem = [](const Arguments&, const Given&) -> std::string { return ""; }};
}

}  // namespace ziggurat::app
