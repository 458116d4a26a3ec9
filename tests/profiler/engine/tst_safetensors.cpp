// SPDX-License-Identifier: Apache-2.0
// Weight files: what is written is read back bit by bit and in the published format, and hostile files are refused
// with a message, never a crash.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "profiler/engine/nn/decoder.h"
#include "profiler/engine/train/safetensors.h"
#include "tests/profiler/engine/engine_fixture.h"
#include "tests/support/test_program.h"

#include <nlohmann/json.hpp>

#include <QTemporaryDir>

#include <cstring>
#include <fstream>

namespace tst_safetensors {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

namespace {

TransformerSpec llamaSpec()
{
    TransformerSpec s;
    s.layers = 1;
    s.hidden = 12;
    s.heads = 3;
    s.kvHeads = 1;
    s.ffnHidden = 10;
    s.vocabulary = 17;
    s.sequence = 8;
    s.positions = Positions::Rotary;
    s.activation = Activation::SwiGlu;
    s.normalization = Normalization::RmsNorm;
    s.biases = false;
    s.tiedEmbeddings = false;
    return s;
}

std::string headerOf(const std::string& json)
{
    const std::uint64_t size = json.size();
    std::string text(8, '\0');
    std::memcpy(text.data(), &size, 8);
    return text + json;
}

void write(const std::string& path, const std::string& bytes)
{
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

} // namespace

class Safetensors : public QObject {
    Q_OBJECT

    QTemporaryDir m_directory;
    std::string path() const { return m_directory.path().toStdString(); }
    std::string file() const { return path() + "/model.safetensors"; }

private slots:
    void roundTrip_data()
    {
        QTest::addColumn<bool>("llama");
        QTest::addColumn<bool>("bf16");
        QTest::newRow("llama f32") << true << false;
        QTest::newRow("gpt f32") << false << false;
        QTest::newRow("llama bf16") << true << true;
    }

    void roundTrip()
    {
        QFETCH(bool, llama);
        QFETCH(bool, bf16);
        TransformerSpec spec = llamaSpec();
        if (!llama) {
            spec.positions = Positions::Learned;
            spec.activation = Activation::Gelu;
            spec.normalization = Normalization::LayerNorm;
            spec.biases = spec.tiedEmbeddings = true;
        }
        const DType type = bf16 ? DType::Bf16 : DType::F32;
        TestRank rank(type);
        Decoder saved(*rank.context, spec, 8, 1, {}), loaded(*rank.context, spec, 8, 2, {});
        QVERIFY(saveWeights(path(), saved.parameters()).ok());
        const Status status = loadWeights(*rank.context, path(), loaded.parameters());
        QVERIFY2(status.ok(), status.ok() ? "" : status.error().message().c_str());
        for (std::size_t i = 0; i < saved.parameters().all().size(); ++i) {
            const Parameter &a = *saved.parameters().all()[i], &b = *loaded.parameters().all()[i];
            QCOMPARE(std::memcmp(a.weight.data(), b.weight.data(), static_cast<std::size_t>(a.weight.bytes())), 0);
            QCOMPARE(std::memcmp(a.compute.data(), b.compute.data(), static_cast<std::size_t>(a.compute.bytes())), 0);
        }
    }

    void namesAndShapesAreThoseOfHuggingFace()
    {
        TestRank rank(DType::F32);
        Decoder model(*rank.context, llamaSpec(), 8, 1, {});
        QVERIFY(saveWeights(path(), model.parameters()).ok());
        auto header = readSafetensorsHeader(file());
        QVERIFY(header.ok());
        const std::map<std::string, std::vector<std::int64_t>> expected = {
            {"model.embed_tokens.weight", {17, 12}},
            {"model.layers.0.input_layernorm.weight", {12}},
            {"model.layers.0.self_attn.q_proj.weight", {12, 12}},
            {"model.layers.0.self_attn.k_proj.weight", {4, 12}},
            {"model.layers.0.self_attn.v_proj.weight", {4, 12}},
            {"model.layers.0.self_attn.o_proj.weight", {12, 12}},
            {"model.layers.0.post_attention_layernorm.weight", {12}},
            {"model.layers.0.mlp.gate_proj.weight", {10, 12}},
            {"model.layers.0.mlp.up_proj.weight", {10, 12}},
            {"model.layers.0.mlp.down_proj.weight", {12, 10}},
            {"model.norm.weight", {12}},
            {"lm_head.weight", {17, 12}}};
        QCOMPARE(header->tensors.size(), expected.size());
        for (const auto& [name, shape] : expected) {
            QVERIFY2(header->tensors.count(name), name.c_str());
            QVERIFY2(header->tensors.at(name).shape == shape, name.c_str());
        }
        QCOMPARE(header->dataOffset % 8, std::uint64_t{0});
        // The value of one element of a transposed piece: k_proj[2][5] is column 12 + 2 of row 5 of the fused matrix.
        std::ifstream in(file(), std::ios::binary);
        in.seekg(static_cast<std::streamoff>(header->dataOffset +
                                             header->tensors.at("model.layers.0.self_attn.k_proj.weight").begin +
                                             (2 * 12 + 5) * 4));
        float value = 0;
        in.read(reinterpret_cast<char*>(&value), 4);
        for (const auto& p : model.parameters().all())
            if (p->weight.columns() == 20 && p->weight.rows() == 12) {
                if (p->pieces.size() == 3) QCOMPARE(value, p->weight.as<float>()[5 * 20 + 12 + 2]);
            }
    }

    void readsHalfAndBf16()
    {
        TestRank rank(DType::F32);
        ParameterList list;
        Parameter& p = list.addVector(*rank.context, "v", 4, 0.0);
        const std::uint16_t half[] = {0x3c00, 0xc000, 0x3555, 0x0001}; // 1, -2, 0.333251953125, 2^-24
        std::string bytes = headerOf(R"({"v":{"dtype":"F16","shape":[4],"data_offsets":[0,8]}})");
        bytes.append(reinterpret_cast<const char*>(half), 8);
        write(file(), bytes);
        QVERIFY(loadWeights(*rank.context, path(), list).ok());
        QCOMPARE(p.weight.as<float>()[0], 1.0f);
        QCOMPARE(p.weight.as<float>()[1], -2.0f);
        QCOMPARE(p.weight.as<float>()[2], 0.333251953125f);
        QCOMPARE(p.weight.as<float>()[3], 0x1p-24f);
        const std::uint16_t brain[] = {0x3f80, 0xc000, 0x3eab, 0x7f80};
        bytes = headerOf(R"({"v":{"dtype":"BF16","shape":[4],"data_offsets":[0,8]}})");
        bytes.append(reinterpret_cast<const char*>(brain), 8);
        write(file(), bytes);
        QVERIFY(loadWeights(*rank.context, path(), list).ok());
        QCOMPARE(p.weight.as<float>()[1], -2.0f);
        QVERIFY(std::isinf(p.weight.as<float>()[3]));
    }

    void hostileFiles_data()
    {
        QTest::addColumn<QByteArray>("bytes");
        const auto row = [](const char* name, const std::string& bytes) {
            QTest::newRow(name) << QByteArray::fromStdString(bytes);
        };
        const std::string data(16, '\1');
        row("empty", "");
        row("seven bytes", "1234567");
        row("text", "Once upon a time there was a file that was not a tensor at all.");
        row("header length beyond the file", std::string("\xff\xff\0\0\0\0\0\0{}", 10));
        row("header length enormous", std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10));
        row("header of length zero", std::string(8, '\0') + data);
        row("not JSON", headerOf("{\"v\":") + data);
        row("an array", headerOf("[1,2,3]") + data);
        row("trailing rubbish", headerOf("{}x") + data);
        row("entry is a number", headerOf(R"({"v":3})") + data);
        row("no offsets", headerOf(R"({"v":{"dtype":"F32","shape":[4]}})") + data);
        row("offsets reversed", headerOf(R"({"v":{"dtype":"F32","shape":[4],"data_offsets":[16,0]}})") + data);
        row("offsets beyond the end", headerOf(R"({"v":{"dtype":"F32","shape":[8],"data_offsets":[0,32]}})") + data);
        row("offsets overflow",
            headerOf(
                R"({"v":{"dtype":"F32","shape":[4],"data_offsets":[18446744073709551600,18446744073709551615]}})") +
                data);
        row("negative offset", headerOf(R"({"v":{"dtype":"F32","shape":[4],"data_offsets":[-16,0]}})") + data);
        row("fractional offset", headerOf(R"({"v":{"dtype":"F32","shape":[4],"data_offsets":[0.5,16]}})") + data);
        row("size does not match", headerOf(R"({"v":{"dtype":"F32","shape":[3],"data_offsets":[0,16]}})") + data);
        row("shape product overflows",
            headerOf(R"({"v":{"dtype":"F32","shape":[4294967296,4294967296,4],"data_offsets":[0,16]}})") + data);
        row("negative extent", headerOf(R"({"v":{"dtype":"F32","shape":[-4],"data_offsets":[0,16]}})") + data);
        row("too many axes",
            headerOf(R"({"v":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,4],"data_offsets":[0,16]}})") + data);
        row("unknown type", headerOf(R"({"v":{"dtype":"F8","shape":[4],"data_offsets":[0,16]}})") + data);
        row("type is a number", headerOf(R"({"v":{"dtype":32,"shape":[4],"data_offsets":[0,16]}})") + data);
        row("overlapping",
            headerOf(
                R"({"v":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},"w":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})") +
                data);
        row("deeply nested", headerOf("{\"v\":" + std::string(100000, '[') + std::string(100000, ']') + "}") + data);
        row("invalid UTF-8",
            headerOf("{\"\xff\xfe\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]}}") + data);
        row("another tensor", headerOf(R"({"w":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})") + data);
        row("another size", headerOf(R"({"v":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}})") + data);
        row("integers", headerOf(R"({"v":{"dtype":"I32","shape":[4],"data_offsets":[0,16]}})") + data);
    }

    void hostileFiles()
    {
        QFETCH(QByteArray, bytes);
        TestRank rank(DType::F32);
        ParameterList list;
        Parameter& p = list.addVector(*rank.context, "v", 4, 5.0);
        write(file(), bytes.toStdString());
        const Status status = loadWeights(*rank.context, path(), list);
        QVERIFY(!status.ok());
        QVERIFY(!status.error().what.empty() && !status.error().hint.empty());
        QCOMPARE(status.error().code, ErrorCode::Format);
        QCOMPARE(p.weight.as<float>()[0], 5.0f); // untouched
    }

    void unreadableAndUnwritablePlaces()
    {
        TestRank rank(DType::F32);
        ParameterList list;
        list.addVector(*rank.context, "v", 4, 5.0);
        const Status absent = loadWeights(*rank.context, path() + "/absent", list);
        QVERIFY(!absent.ok());
        QCOMPARE(absent.error().code, ErrorCode::Io);
        write(path() + "/afile", "x");
        QVERIFY(!saveWeights(path() + "/afile/inside", list).ok());
    }
};

FOURWALLS_TEST(Safetensors, QCoreApplication)

} // namespace tst_safetensors

#include "tst_safetensors.moc"
