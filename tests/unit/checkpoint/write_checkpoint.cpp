// Writes a checkpoint of random tensors, and their values as plain files, for readers of other programs.
//
//   write_checkpoint FOLDER    writes FOLDER/ckpt/step-000000007 and FOLDER/values/<kind>.<tensor>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tensor/bfloat16.hpp"
#include "tests/unit/checkpoint/stored_tensors.hpp"

namespace {

using ziggurat::test::Tensor;

/// Returns all values as floats.
std::vector<float> floats_of(const Tensor& tensor) {
    std::vector<float> values(static_cast<std::size_t>(tensor.piece.box.elements()));
    for (std::size_t k = 0; k < values.size(); ++k) {
        if (tensor.piece.type == ziggurat::spec::DType::f32) {
            std::memcpy(&values[k], tensor.bytes.data() + 4 * k, 4);
        } else {
            ziggurat::tensor::bfloat16 value;
            std::memcpy(&value, tensor.bytes.data() + 2 * k, 2);
            values[k] = static_cast<float>(value);
        }
    }
    return values;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("write_checkpoint: one folder is needed\n", stderr);
        return 2;
    }
    const std::string folder = argv[1];
    ziggurat::test::Draw draw{11};
    const std::vector<Tensor> tensors = ziggurat::test::draw_tensors(6, 300, draw);
    ziggurat::test::save(folder + "/ckpt", 7, ziggurat::test::share_out(tensors, 3, draw));
    std::filesystem::create_directories(folder + "/values");
    for (const Tensor& tensor : tensors) {
        const std::vector<float> values = floats_of(tensor);
        std::ofstream{folder + "/values/" + to_string(tensor.piece.kind) + "." + tensor.piece.tensor,
                      std::ios::binary}
            .write(reinterpret_cast<const char*>(values.data()),
                   static_cast<std::streamsize>(4 * values.size()));
    }
    return 0;
}
