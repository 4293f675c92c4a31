#include "app/bench/machine_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/error.hpp"
#include "base/text/message.hpp"
#include "base/text/printable.hpp"
#include "deck/compose/environment.hpp"
#include "deck/machine/machine.hpp"
#include "deck/machine/measured_machine.hpp"
#include "storage/directory.hpp"

namespace ziggurat::app {
namespace {

void make_folder_of(const std::string& file) {
    std::error_code problem;
    const auto folder = std::filesystem::absolute(file, problem).parent_path();
    std::filesystem::create_directories(folder, problem);
    std::error_code ignored;
    const bool is_folder = std::filesystem::is_directory(folder, ignored);
    if (!is_folder || ::access(folder.c_str(), W_OK | X_OK) != 0) {
        const auto reason = is_folder ? std::string{std::strerror(errno)}
                            : problem ? problem.message()
                                      : std::string{"it is not a folder"};
        throw Error{
            ErrorKind::resource,
            fmt::format("cannot write results to '{}' ({}). Give --machine-file FILE, or set HOME to a "
                        "folder that you can write to.",
                        printable(file), reason)};
    }
}

}  // namespace

MachineFile::MachineFile(const std::string& named)
    : path_{named.empty() ? deck::measured_file(deck::process_environment) : named} {
    if (!path_.empty()) {
        make_folder_of(path_);
    }
}

spec::MachineSpec MachineFile::machine() const {
    std::error_code unreadable;
    if (path_.empty() || !std::filesystem::exists(path_, unreadable)) {
        return deck::this_machine();
    }
    deck::Diagnostics found;
    const auto known = deck::load_machine(path_, found);
    if (!known) {
        std::fputs(found.print().c_str(), stderr);
        throw Error{ErrorKind::deck, fmt::format("'{}' exists and is not a machine file (see above). Give "
                                                 "another file with --machine-file.",
                                                 printable(path_))};
    }
    return *known;
}

void MachineFile::keep(const spec::MachineSpec& machine) const {
    if (path_.empty()) {
        std::fputs(message(Severity::warning,
                           "results are not stored (neither XDG_CONFIG_HOME nor HOME is set). Give "
                           "--machine-file FILE.\n")
                       .c_str(),
                   stderr);
        return;
    }
    storage::write_small_file(path_, deck::machine_text(machine));
    fmt::print("kept in {}\n", printable(path_));
}

}  // namespace ziggurat::app
