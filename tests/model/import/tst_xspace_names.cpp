// SPDX-License-Identifier: Apache-2.0
// What the first reading of an XSpace profile keeps: of hostile files no more than memory has.
#include "model/import/xspace/xspace_names.h"
#include "tests/model/import/import_helpers.h"
#include "tests/support/test_program.h"

#include <QFile>
#include <QTest>

namespace tst_xspace_names {

using namespace fourwalls;
using namespace fourwalls::importers;
using namespace fourwalls::importers::test;

class XSpaceNamesTest : public QObject {
    Q_OBJECT

private slots:
    void emptyPlanesEndSomewhere()
    {
        QTemporaryDir folder;
        QByteArray bytes;
        for (int i = 0; i < 50'000; ++i) bytes.append("\x0a\x00", 2); // planes without anything
        QFile file(folder.filePath("planes.xplane.pb"));
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size());
        file.close();
        XSpaceNames names;
        QVERIFY(names.read(file.fileName().toStdString(), {}).ok());
        QCOMPARE(names.planes.size(), std::size_t{10'000});
        QCOMPARE(names.namesLeftOut, 40'000);
    }

    void emptyLinesEndSomewhere()
    {
        QTemporaryDir folder;
        constexpr int kLines = 1'200'000, kMost = 1'000'000;
        QByteArray bytes;
        for (quint32 size = 2 * kLines; size > 0; size >>= 7)
            bytes.append(static_cast<char>((size & 0x7f) | (size > 0x7f ? 0x80 : 0)));
        bytes.prepend('\x0a');
        for (int i = 0; i < kLines; ++i) bytes.append("\x1a\x00", 2);
        QFile file(folder.filePath("lines.xplane.pb"));
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size());
        file.close();
        XSpaceNames names;
        QVERIFY(names.read(file.fileName().toStdString(), {}).ok());
        QCOMPARE(names.planes.size(), std::size_t{1});
        QCOMPARE(names.planes[0].lines.size(), std::size_t{kMost});
        QCOMPARE(names.namesLeftOut, kLines - kMost);
    }
};

FOURWALLS_TEST(XSpaceNamesTest, QCoreApplication)

} // namespace tst_xspace_names

#include "tst_xspace_names.moc"
