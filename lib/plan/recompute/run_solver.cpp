#include "plan/recompute/run_solver.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/error.hpp"
#include "base/process/start_process.hpp"

namespace ziggurat::plan {
namespace {

namespace fs = std::filesystem;

/// Folder that is removed with its files.
class TemporaryFolder {
  public:
    TemporaryFolder() {
        auto name = (fs::temp_directory_path() / "ziggurat-cbc-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) {
            throw Error{
                ErrorKind::resource,
                fmt::format("cannot create a folder in '{}' ({}). Set TMPDIR to a folder that you can "
                            "write to.",
                            fs::temp_directory_path().string(), std::strerror(errno))};
        }
        path_ = name;
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }

    const fs::path& path() const noexcept { return path_; }

  private:
    fs::path path_;
};

/// Runs a command without output, and returns its exit status, or -1 and sets errno if it cannot start.
int run(const std::vector<std::string>& command) {
    const pid_t process = start_process({.command = command});
    return process < 0 ? -1 : wait_for_process(process);
}

}  // namespace

std::string solve_program(const std::string& program, const std::string& solver, int seconds) {
    const TemporaryFolder folder;
    const auto model = (folder.path() / "recompute.lp").string();
    const auto solution = (folder.path() / "solution.txt").string();
    std::ofstream{model} << program;
    const int status = run({solver, model, "-seconds", std::to_string(seconds), "-ratioGap", "0", "-solve",
                            "-solution", solution});
    if (status == -1 || status == 127) {
        throw Error{ErrorKind::resource, fmt::format("cannot run '{}', which solves for the exact choice "
                                                     "({}). Install COIN-OR CBC (Debian: apt-get "
                                                     "install coinor-cbc).",
                                                     solver, std::strerror(status == -1 ? errno : ENOENT))};
    }
    std::ifstream stream{solution};
    std::string text{std::istreambuf_iterator<char>{stream}, {}};
    if (status != 0 || text.empty()) {
        throw Error{
            ErrorKind::resource,
            fmt::format(
                "'{}' failed (exit status {}) on the program of recomputation. Test it with '{} -quit'.",
                solver, status, solver)};
    }
    return text;
}

}  // namespace ziggurat::plan
