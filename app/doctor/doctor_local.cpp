#include "app/doctor/doctor_local.hpp"

#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

#include "app/command_line/version.hpp"
#include "app/start/available_cores.hpp"
#include "app/start/thread_binding.hpp"
#include "base/control_group.hpp"
#include "base/process/command_output.hpp"
#include "comm/session/mpi_version.hpp"
#include "device/built_for.hpp"
#include "device/discovery.hpp"
#include "doctor/launch_checks.hpp"
#include "doctor/limits.hpp"
#include "doctor/versions.hpp"
#include "storage/directory_probe.hpp"
#include "train/step/rank_threads.hpp"

namespace ziggurat::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* shared_folder = "/dev/shm";
constexpr const char* folder_of_fabrics = "/sys/class/infiniband";

bool is_set(const char* variable) {
    return std::getenv(variable) != nullptr;
}

/// Returns the settings of Open MPI that the user, not the launcher, has set: `OMPI_MCA_pml=ucx`.
std::vector<std::string> mpi_settings() {
    std::vector<std::string> settings;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view setting = *entry;
        constexpr std::array launchers{"OMPI_MCA_orte_",         "OMPI_MCA_ess",
                                       "OMPI_MCA_pmix",          "OMPI_MCA_initial_",
                                       "OMPI_MCA_shmem_RUNTIME", "OMPI_MCA_mpi_oversubscribe"};
        const bool is_of_launcher =
            std::ranges::any_of(launchers, [&](const char* name) { return setting.starts_with(name); });
        if (setting.starts_with("OMPI_MCA_") && !is_of_launcher) {
            settings.emplace_back(setting);
        }
    }
    std::ranges::sort(settings);
    return settings;
}

doctor::Limit limit_of(__rlimit_resource resource) {
    const auto number = [](rlim_t limit) {
        return limit == RLIM_INFINITY ? doctor::no_limit : static_cast<std::int64_t>(limit);
    };
    rlimit found = {};
    return getrlimit(resource, &found) == 0 ? doctor::Limit{number(found.rlim_cur), number(found.rlim_max)}
                                            : doctor::Limit{};
}

/// Returns the path of `command` on the PATH; empty if it is not found.
std::string on_path(const std::string& command) {
    const char* path = std::getenv("PATH");
    std::istringstream folders{path == nullptr ? "" : path};
    for (std::string folder; std::getline(folders, folder, ':');) {
        const auto file = (folder.empty() ? fs::path{"."} : fs::path{folder}) / command;
        std::error_code unreadable;
        if (fs::is_regular_file(file, unreadable) && ::access(file.c_str(), X_OK) == 0) {
            return file.string();
        }
    }
    return "";
}

/// Returns the name of an RDMA network card (kernel bypass); empty without one.
std::string first_fabric() {
    std::error_code unreadable;
    const fs::directory_iterator entry{folder_of_fabrics, unreadable};
    return unreadable || entry == end(entry) ? "" : entry->path().filename().string();
}

/// Returns the bytes of memory that programs can allocate without swapping.
std::int64_t available_bytes(std::int64_t default_value) {
    std::ifstream file{"/proc/meminfo"};
    std::string name;
    std::string rest;
    for (std::int64_t kibi = 0; file >> name >> kibi && std::getline(file, rest);) {
        if (name == "MemAvailable:") {
            return kibi * 1024;
        }
    }
    return default_value;
}

doctor::MemoryFacts memory_facts() {
    const auto group = memory_group();
    const auto installed = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
    return {.installed_bytes = installed,
            .available_bytes = available_bytes(installed),
            .granted_bytes = group.granted_bytes,
            .used_bytes = group.used_bytes,
            .cores = static_cast<int>(allowed_cpus().size()),
            .machine_cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN))};
}

doctor::SharedMemoryFacts shared_memory_facts(int ranks) {
    const auto trial = storage::probe_directory(shared_folder);
    struct statvfs space = {};
    if (::statvfs(shared_folder, &space) != 0) {
        return {.problem = trial.no_file_reason, .has_size = false, .ranks = ranks};
    }
    const auto unit = static_cast<std::int64_t>(space.f_frsize);
    return {.problem = trial.no_file_reason,
            .free_bytes = static_cast<std::int64_t>(space.f_bavail) * unit,
            .size_bytes = static_cast<std::int64_t>(space.f_blocks) * unit,
            .has_size = space.f_blocks > 0,
            .ranks = ranks};
}

}  // namespace

doctor::Diagnoses examine_launcher() {
    const auto linked = doctor::read_release(comm::mpi_running());
    const auto path = on_path("mpirun");
    constexpr double timeout_seconds = 10;
    const auto output = path.empty() ? std::nullopt : command_output({path, "--version"}, timeout_seconds);
    doctor::Diagnoses found{doctor::diagnose_launcher(path, output.value_or(""), linked)};
    const auto root = doctor::diagnose_root(::geteuid() == 0, is_set("OMPI_ALLOW_RUN_AS_ROOT"),
                                            is_set("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"), linked);
    doctor::append(found, root);
    const auto settings = mpi_settings();
    doctor::append(found, doctor::list_settings(settings));
    const bool can_start =
        found.front().health == doctor::Health::ok && root.empty() && linked.name == "Open MPI";
    if (can_start && !is_set("OMPI_COMM_WORLD_RANK")) {
        // mpirun also fails if ranks report problems. Their output shows whether the ranks started.
        constexpr const char* trial =
            "mpirun -n 2 --oversubscribe --bind-to none \"$0\" doctor --mpi --json 2>&1; true";
        constexpr double trial_seconds = 60;
        std::error_code unreadable;
        const auto self = fs::read_symlink("/proc/self/exe", unreadable).string();
        found.push_back(doctor::diagnose_trial(
            command_output({"sh", "-c", trial, self}, trial_seconds).value_or(""), settings));
    }
    return found;
}

doctor::Diagnoses examine_process(const JobSize& job) {
    return {doctor::diagnose_open_files(limit_of(RLIMIT_NOFILE), job.ranks),
            doctor::diagnose_locked_memory(limit_of(RLIMIT_MEMLOCK), first_fabric())};
}

doctor::Diagnoses examine_node(const JobSize& job) {
    const auto output = comm::mpi_running();
    const auto devices = device::discover();
    doctor::Diagnoses found{
        doctor::diagnose_memory(memory_facts()),
        doctor::diagnose_shared_memory(shared_memory_facts(job.ranks_on_node)),
        doctor::diagnose_mpi(doctor::read_release(comm::mpi_headers()), doctor::read_release(output), output),
        doctor::diagnose_library(
            {.name = "HDF5", .headers = storage::hdf5_headers(), .running = storage::hdf5_running()}),
        doctor::ok_diagnosis("libraries", library_versions()),
        doctor::diagnose_devices(device::has_cuda, devices.count, devices.unavailable_reason,
                                 devices.is_hardware_there)};
    if (const auto note = binding_note(); !note.empty()) {
        found.insert(found.begin(), doctor::ok_diagnosis("binding", note));
    }
    return found;
}

}  // namespace ziggurat::app
