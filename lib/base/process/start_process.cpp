#include "base/process/start_process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

extern char** environ;

namespace ziggurat {
namespace {

/// Returns pointers to the texts, which must outlive them, and a null pointer.
std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (const std::string& text : texts) {
        pointers.push_back(const_cast<char*>(text.c_str()));
    }
    pointers.push_back(nullptr);
    return pointers;
}

void add_stream(posix_spawn_file_actions_t& files, int from, int stream) {
    if (from >= 0) {
        posix_spawn_file_actions_adddup2(&files, from, stream);
    } else {
        posix_spawn_file_actions_addopen(&files, stream, "/dev/null",
                                         stream == STDIN_FILENO ? O_RDONLY : O_WRONLY, 0);
    }
}

}  // namespace

pid_t start_process(const ProcessStart& start) noexcept {
    const auto arguments = pointers_to(start.command);
    const auto variables = start.environment ? pointers_to(*start.environment) : std::vector<char*>{};
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    add_stream(files, start.input, STDIN_FILENO);
    add_stream(files, start.output, STDOUT_FILENO);
    add_stream(files, start.errors, STDERR_FILENO);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    const int session = start.has_own_session ? POSIX_SPAWN_SETSID : 0;
    posix_spawnattr_setflags(&attributes,
                             static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | session));
    pid_t process = -1;
    const int failure = ::posix_spawnp(&process, arguments.front(), &files, &attributes, arguments.data(),
                                       start.environment ? variables.data() : environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    if (failure != 0) {
        errno = failure;
        return -1;
    }
    return process;
}

int exit_status_of(int status) noexcept {
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int wait_for_process(pid_t process) noexcept {
    int status = 0;
    while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {}
    return exit_status_of(status);
}

}  // namespace ziggurat
