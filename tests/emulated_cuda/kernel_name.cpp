#include "tests/emulated_cuda/kernel_name.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <vector>

namespace emulated_cuda {
namespace {

/// Returns the address at which the program was loaded.
std::uintptr_t program_base() {
    std::uintptr_t base = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* found) {
            *static_cast<std::uintptr_t*>(found) = info->dlpi_addr;
            return 1;  // the first object is the program
        },
        &base);
    return base;
}

std::string demangled(const char* symbol) {
    int status = 0;
    char* const text = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
    std::string name = status == 0 ? text : symbol;
    std::free(text);
    return name;
}

}  // namespace

std::string name_of_kernel(const void* address) {
    std::ifstream file{"/proc/self/exe", std::ios::binary | std::ios::ate};
    std::vector<char> bytes(static_cast<std::size_t>(file.tellg()));
    file.seekg(0);
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    const auto at = reinterpret_cast<std::uintptr_t>(address) - program_base();
    const auto* const header = reinterpret_cast<const Elf64_Ehdr*>(bytes.data());
    if (bytes.size() < sizeof *header) {
        return "?";
    }
    const auto* const sections = reinterpret_cast<const Elf64_Shdr*>(bytes.data() + header->e_shoff);
    for (int i = 0; i < header->e_shnum; ++i) {
        if (sections[i].sh_type != SHT_SYMTAB) {
            continue;
        }
        const auto* const symbols = reinterpret_cast<const Elf64_Sym*>(bytes.data() + sections[i].sh_offset);
        const char* const names = bytes.data() + sections[sections[i].sh_link].sh_offset;
        for (std::size_t s = 0; s < sections[i].sh_size / sizeof(Elf64_Sym); ++s) {
            if (symbols[s].st_value == at && ELF64_ST_TYPE(symbols[s].st_info) == STT_FUNC) {
                return demangled(names + symbols[s].st_name);
            }
        }
    }
    return "?";
}

}  // namespace emulated_cuda
