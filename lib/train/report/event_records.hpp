/// Records of TensorBoard event files, in the encoding of TensorBoard's own writer.
///
/// A record consists of the message length in 8 bytes, the masked CRC-32C of these bytes, the message, and
/// the masked CRC-32C of the message. Numbers are little-endian. The message is a protocol buffer `Event`.
///
/// Source: TensorBoard, tensorboard/summary/writer/record_writer.py; tensorboard/compat/proto/event.proto and
/// summary.proto.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ziggurat::train {

/// Point of a curve.
struct Scalar {
    std::string_view tag;  ///< name of the curve; the part before `/` is its group
    double value = 0;      ///< stored as a float, the only type of curves
};

/// Returns the CRC-32C (Castagnoli) of `bytes`, masked by a rotation and an offset as in record files.
std::uint32_t masked_crc32c(std::string_view bytes) noexcept;

/// Returns the first record of a file.
///
/// \param seconds  since 1970, UTC (also below)
std::string version_record(double seconds);

/// Returns the record of a resume after `step`. Readers drop later steps of earlier files.
std::string restart_record(double seconds, std::int64_t step);

/// Returns one record with all values of a step.
std::string scalars_record(double seconds, std::int64_t step, std::span<const Scalar> values);

}  // namespace ziggurat::train
