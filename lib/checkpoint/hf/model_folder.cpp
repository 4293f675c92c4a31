#include "checkpoint/hf/model_folder.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "base/error.hpp"
#include "base/file_kind.hpp"
#include "base/text/looked_in.hpp"
#include "base/text/printable.hpp"
#include "checkpoint/hf/safetensors_entries.hpp"
#include "checkpoint/hf/weight_map.hpp"
#include "storage/directory.hpp"

namespace ziggurat::checkpoint::hf {
namespace {

namespace fs = std::filesystem;

constexpr const char* pytorch_names[] = {"pytorch_model.bin", "pytorch_model.bin.index.json"};
constexpr std::size_t max_files = 10'000;

bool is_plain_name(const std::string& name) {
    return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
           name.find('\0') == std::string::npos;
}

}  // namespace

ModelFolder::ModelFolder(std::string folder, const std::set<std::string>& optional)
    : folder_{std::move(folder)} {
    std::error_code error;
    if (!fs::is_directory(folder_, error)) {
        throw Error{
            ErrorKind::deck,
            fmt::format("cannot read the model in '{}' (there is no such folder in {}). Name the folder "
                        "with its config.json.",
                        printable(folder_), looked_in(folder_))};
    }
    const auto index = folder_ + "/" + index_name;
    if (fs::exists(folder_ + "/" + single_file_name, error)) {
        add_file(single_file_name);
    } else if (fs::exists(index, error)) {
        read_index(index, optional);
    } else {
        const bool is_pytorch = fs::exists(folder_ + "/" + pytorch_names[0], error) ||
                                fs::exists(folder_ + "/" + pytorch_names[1], error);
        refuse_model_file(folder_, fmt::format("it has neither {} nor {}{}", single_file_name, index_name,
                                               is_pytorch ? "; files of pickled weights are not read" : ""));
    }
}

void ModelFolder::add_file(const std::string& name) {
    files_.emplace_back(folder_ + "/" + name);
    for (const auto& tensor : files_.back().tensors()) {
        const auto [at, is_new] = tensors_.emplace(tensor.name, LocatedTensor{files_.size() - 1, tensor});
        if (!is_new) {
            refuse_model_file(files_.back().path(),
                              fmt::format("its tensor '{}' is in '{}' as well", printable(tensor.name),
                                          printable(files_[at->second.file].path())));
        }
    }
}

void ModelFolder::read_index(const std::string& path, const std::set<std::string>& optional) {
    if (const auto other = irregular_file(path); !other.empty()) {
        refuse_model_file(path, fmt::format("it is {}, not a file", other));
    }
    const auto text = storage::read_small_file(path, max_header_bytes);
    if (!text) {
        refuse_model_file(path, "there is no such file");
    }
    if (const auto found = recognise_file(*text)) {
        throw Error{ErrorKind::checkpoint, fmt::format("cannot use '{}' (it is {}). {}", printable(path),
                                                       found->what, found->remedy)};
    }
    const auto file_of_tensor = read_weight_map(*text, path);
    std::set<std::string> names;
    for (const auto& [tensor, file] : file_of_tensor) {
        if (!is_plain_name(file)) {
            refuse_model_file(path, fmt::format("'{}', which has '{}', is not a file name", printable(file),
                                                printable(tensor)));
        }
        names.insert(file);
    }
    if (names.empty() || names.size() > max_files) {
        refuse_model_file(path, fmt::format("it names {} files", names.size()));
    }
    for (const auto& name : names) {
        add_file(name);
    }
    for (const auto& [tensor, file] : file_of_tensor) {
        const auto found = tensors_.find(tensor);
        if (found == tensors_.end() && optional.contains(tensor)) {
            continue;
        }
        if (found == tensors_.end() || files_[found->second.file].path() != folder_ + "/" + file) {
            refuse_model_file(
                path, fmt::format("'{}' does not hold its tensor '{}'", printable(file), printable(tensor)));
        }
    }
    for (const auto& [tensor, at] : tensors_) {
        if (!file_of_tensor.contains(tensor)) {
            refuse_model_file(path, fmt::format("it does not name the tensor '{}' of '{}'", printable(tensor),
                                                printable(files_[at.file].path())));
        }
    }
}

}  // namespace ziggurat::checkpoint::hf
