// SPDX-License-Identifier: GPL-3.0-or-later
// Opening what other tools recorded: what counts as foreign, where its trace is kept, and a whole import through the
// window with its progress dialog.
#include "app/gui/audit_dialog.h"
#include "app/gui/child_job.h"
#include "app/gui/foreign_files.h"
#include "app/gui/main_window.h"
#include "app/gui/trace_document.h"
#include "model/store/trace_file.h"
#include "tests/model/import/spool_sample.h"
#include "tests/support/test_program.h"

#include <QDateTime>
#include <QDir>
#include <QDirIterator>
#include <QDragEnterEvent>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QMimeData>
#include <QProgressBar>
#include <QPushButton>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTreeWidget>
#include <QUrl>
#include <QtTest/QtTest>

#include <algorithm>
#include <fstream>
#include <string>

namespace tst_foreign_files {

using namespace fourwalls;
using namespace fourwalls::gui;

class TestForeignFiles : public QObject {
    Q_OBJECT
private:
    std::unique_ptr<QTemporaryDir> m_folder;

    QString in(const QString& name) const { return m_folder->filePath(name); }
    QString made(const QString& name, const QByteArray& bytes) const
    {
        QDir().mkpath(QFileInfo(in(name)).path());
        QFile file(in(name));
        if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size()) return {};
        return in(name);
    }
    static QByteArray sqliteFile(quint32 applicationId)
    {
        QByteArray bytes("SQLite format 3\0", 16);
        bytes.resize(100, '\0');
        for (int i = 0; i < 4; ++i) bytes[68 + i] = static_cast<char>(applicationId >> (24 - 8 * i));
        return bytes;
    }
    static views::TraceOpener opener()
    {
        return [](const QString& path) { return store::openTrace(QFile::encodeName(path).toStdString()); };
    }

private slots:
    void init()
    {
        m_folder = std::make_unique<QTemporaryDir>();
        QVERIFY(m_folder->isValid());
        qputenv("XDG_CACHE_HOME", in(QStringLiteral("cache")).toUtf8());
    }

    void tellsOwnFromForeign()
    {
        QVERIFY(isOwnTrace(made(QStringLiteral("a.db"), sqliteFile(0x34574c53))));
        QVERIFY(!isOwnTrace(made(QStringLiteral("nsight.sqlite"), sqliteFile(0))));
        QVERIFY(!isOwnTrace(made(QStringLiteral("trace.json"), "{\"traceEvents\": []}")));
        QVERIFY(!isOwnTrace(made(QStringLiteral("empty.json"), "")));
        // These are not traces, but ours to refuse.
        QVERIFY(isOwnTrace(made(QStringLiteral("text.fourwalls"), "not a trace")));
        QVERIFY(isOwnTrace(in(QStringLiteral("missing.json"))));
        QVERIFY(!isOwnTrace(m_folder->path())); // it may hold a run
    }

    void oneRunIsOneImport()
    {
        const QString a = made(QStringLiteral("rank1.json"), "[]"), b = made(QStringLiteral("rank0.json"), "[]");
        const QString own = made(QStringLiteral("own.bin"), sqliteFile(0x34574c53));
        const QString cache = in(QStringLiteral("imports"));
        const OpenPlan plan = planOpening({a, own, b}, false, cache);
        QCOMPARE(plan.traces, QStringList{own});
        QCOMPARE(plan.foreign, (QStringList{b, a}));
        QVERIFY(plan.target.startsWith(cache));
        QVERIFY(plan.target.endsWith(QStringLiteral("rank0.json+1.fourwalls")));
        QVERIFY(!plan.imported);
        QVERIFY(QFileInfo(QFileInfo(plan.target).path()).isDir());
        QCOMPARE(planOpening({b, a}, false, cache).target, plan.target);
        const QStringList arguments = importArguments(plan);
        QCOMPARE(arguments.first(), QStringLiteral("import"));
        QCOMPARE(arguments.mid(arguments.indexOf(QStringLiteral("--")) + 1), plan.foreign);

        QVERIFY(QFile(plan.target).open(QIODevice::WriteOnly));
        QVERIFY(planOpening({a, b}, false, cache).imported);
        made(QStringLiteral("rank1.json"), "[{}]"); // changed since
        const OpenPlan anew = planOpening({a, b}, false, cache);
        QVERIFY(!anew.imported);
        QVERIFY(anew.target != plan.target);
        QVERIFY(planOpening({own}, false, cache).target.isEmpty());
    }

    void besideTheSourceOnlyWithConsentAndNeverOverAFile()
    {
        const QString source = made(QStringLiteral("run/trace.json"), "[]");
        const QString cache = in(QStringLiteral("imports"));
        QVERIFY(planOpening({source}, false, cache).target.startsWith(cache));
        QCOMPARE(planOpening({source}, true, cache).target, source + QStringLiteral(".fourwalls"));
        made(QStringLiteral("run/trace.json.fourwalls"),
             "my own notes of 72 bytes or more, which are not a trace at all and stay");
        // Its name says it is a trace and it is newer: it is what will be opened (and refused), never written over.
        QVERIFY(planOpening({source}, true, cache).imported);
        QFile old(source + QStringLiteral(".fourwalls"));
        QVERIFY(old.open(QIODevice::ReadWrite));
        QVERIFY(old.setFileTime(QDateTime::currentDateTime().addDays(-3), QFileDevice::FileModificationTime));
        old.close();
        QVERIFY(planOpening({source}, true, cache).target.startsWith(cache));
    }

    void theCacheForgetsTheOldest()
    {
        const QString cache = in(QStringLiteral("imports"));
        QStringList targets;
        for (int i = 0; i < 3; ++i) {
            const OpenPlan plan = planOpening({made(QStringLiteral("%1.json").arg(i), "[]")}, false, cache);
            QFile file(plan.target);
            QVERIFY(file.open(QIODevice::WriteOnly));
            QVERIFY(file.write(QByteArray(1000, 'x')) == 1000);
            targets << plan.target;
        }
        QVERIFY(planOpening({made(QStringLiteral("next.json"), "[]")}, false, cache, 10'000).target.startsWith(cache));
        for (const QString& target : targets) QVERIFY(QFile::exists(target));
        planOpening({made(QStringLiteral("another.json"), "[]")}, false, cache, 500);
        int kept = 0;
        for (const QString& target : targets) kept += QFile::exists(target) ? 1 : 0;
        QCOMPARE(kept, 0);
    }

    void theAuditIsShownEntryByEntry()
    {
        TraceInfo info;
        QVERIFY(!hasLosses(info));
        info.audit = {{"overlapping_slices", AuditSeverity::Info, 3, "on lanes of their own"},
                      {"events_without_time", AuditSeverity::Skipped, 12'345, "no ts"},
                      {"nothing", AuditSeverity::Dropped, 0, ""}};
        QVERIFY(hasLosses(info));
        QPointer<AuditDialog> dialog = new AuditDialog(info, QStringLiteral("x.json"));
        const auto* table = dialog->findChild<QTableWidget*>();
        QCOMPARE(table->rowCount(), 2); // worst first, nothing that did not happen
        QCOMPARE(table->item(0, 0)->text(), QStringLiteral("events without time"));
        QVERIFY(table->item(0, 2)->text().endsWith(QStringLiteral("345")));
        QCOMPARE(table->item(1, 3)->text(), QStringLiteral("on lanes of their own"));
        delete dialog;
    }

    void aForeignFileOpensAfterItsImport()
    {
        if (!QFile::exists(commandLineProgram())) QSKIP("fourwalls-cli is not part of this build");
        const QString source = in(QStringLiteral("simple_trace.json"));
        QVERIFY(
            QFile::copy(QStringLiteral(FOURWALLS_SOURCE_DIR "/tests/data/import/catapult/simple_trace.json"), source));
        Settings settings(Settings::Kind::Forgetful);
        MainWindow window(opener(), settings);
        window.openFiles({source});
        QTRY_VERIFY_WITH_TIMEOUT(window.currentDocument() && window.currentDocument()->isOpen(), 60'000);
        TraceDocument* document = window.currentDocument();
        QCOMPARE(document->source(), source);
        QCOMPARE(document->session()->info().header.source, TraceSource::Imported);
        QVERIFY(document->session()->info().counts.slices > 0);
        QVERIFY(document->path().startsWith(importFolder()));
        QCOMPARE(QDir(m_folder->path()).entryList(QDir::Files), QStringList{QStringLiteral("simple_trace.json")});
        // A second time nothing is imported.
        const QDateTime written = QFileInfo(document->path()).lastModified();
        window.closeDocument(1);
        window.openFiles({source});
        QTRY_VERIFY_WITH_TIMEOUT(window.currentDocument() && window.currentDocument()->isOpen(), 60'000);
        QCOMPARE(QFileInfo(window.currentDocument()->path()).lastModified(), written);
        QVERIFY(!window.findChild<QDialog*>(QStringLiteral("import")) ||
                !window.findChild<QDialog*>(QStringLiteral("import"))->isVisible());
    }

    /// Two ranks that are dropped together are one run.
    void filesThatAreDroppedAreOneRun()
    {
        if (!QFile::exists(commandLineProgram())) QSKIP("fourwalls-cli is not part of this build");
        QMimeData mime;
        QList<QUrl> urls;
        QDirIterator files(QStringLiteral(FOURWALLS_SOURCE_DIR "/tests/data/import/Megatron-LM"), QDir::Files,
                           QDirIterator::Subdirectories);
        while (files.hasNext()) urls << QUrl::fromLocalFile(files.next());
        QCOMPARE(urls.size(), 2);
        Settings settings(Settings::Kind::Forgetful);
        MainWindow window(opener(), settings);
        mime.setText(QStringLiteral("no file"));
        QDragEnterEvent text(QPoint(50, 50), Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(&window, &text);
        QVERIFY(!text.isAccepted() || text.dropAction() == Qt::IgnoreAction);
        mime.setUrls(urls);
        QDragEnterEvent enter(QPoint(50, 50), Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(&window, &enter);
        QVERIFY(enter.isAccepted());
        QDropEvent drop(QPointF(50, 50), Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(&window, &drop);
        QVERIFY(drop.isAccepted());
        QTRY_VERIFY_WITH_TIMEOUT(window.currentDocument() && window.currentDocument()->isOpen(), 60'000);
        QCOMPARE(window.documents().size(), 1);
        const TraceInfo& info = window.currentDocument()->session()->info();
        QCOMPARE(info.header.ranks.size(), std::size_t{2});
        QVERIFY(std::any_of(info.audit.begin(), info.audit.end(), [](const AuditRecord& record) {
            return record.name == "collectives_matched" && record.count == 13;
        }));
    }

    /// What a dialog gives for a name that is no UTF-8 names no file.
    void aNameThatIsNoUtf8()
    {
        const std::string raw = m_folder->path().toStdString() + "/rank\xff"
                                                                 "0.json";
        std::ofstream(raw) << "[]";
        const QString given = QFile::decodeName(QByteArray::fromStdString(raw));
        QVERIFY(!QFile::exists(given));
        const OpenPlan plan = planOpening({given}, false, in(QStringLiteral("cache")));
        QCOMPARE(plan.foreign.size(), 1);
        QFile file(plan.foreign.constFirst());
        QVERIFY(file.open(QIODevice::ReadOnly));
        QCOMPARE(file.readAll(), QByteArray("[]"));
        QCOMPARE(planOpening({given}, false, in(QStringLiteral("cache"))).foreign, plan.foreign);
    }

    /// A folder is one run; which file is which rank is shown first.
    void aFolderIsShownBeforeItsImport()
    {
        if (!QFile::exists(commandLineProgram())) QSKIP("fourwalls-cli is not part of this build");
        const QString folder = in(QStringLiteral("job"));
        QVERIFY(QDir().mkpath(folder + QStringLiteral("/node0")));
        for (int rank = 0; rank < 2; ++rank)
            made(
                QStringLiteral("job/node0/trace%1.json").arg(rank),
                R"({"distributedInfo":{"rank":)" + QByteArray::number(rank) +
                    R"(,"world_size":2},"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1700000000000000,"dur":9}]})");
        made(QStringLiteral("job/notes.txt"), "notes");
        Settings settings(Settings::Kind::Forgetful);
        MainWindow window(opener(), settings);
        window.show();
        window.openFiles({folder});
        QTRY_VERIFY_WITH_TIMEOUT(window.findChild<QDialog*>(QStringLiteral("runFiles")), 20'000);
        auto* dialog = window.findChild<QDialog*>(QStringLiteral("runFiles"));
        const auto* list = dialog->findChild<QTreeWidget*>();
        QTRY_COMPARE_WITH_TIMEOUT(list->topLevelItemCount(), 2, 60'000);
        for (int row = 0; row < 2; ++row) {
            QCOMPARE(list->topLevelItem(row)->text(0), QString::number(row));
            QCOMPARE(list->topLevelItem(row)->text(1), QStringLiteral("trace%1.json").arg(row));
        }
        QVERIFY(window.documents().isEmpty());
        dialog->findChild<QPushButton*>(QStringLiteral("importFiles"))->click();
        QTRY_VERIFY_WITH_TIMEOUT(window.currentDocument() && window.currentDocument()->isOpen(), 60'000);
        QCOMPARE(window.currentDocument()->session()->info().header.ranks.size(), std::size_t{2});
        // Another file in it makes another run.
        const QString before = planOpening({folder}, false, importFolder()).target;
        QCOMPARE(before, window.currentDocument()->path());
        made(QStringLiteral("job/node0/trace2.json"), "[]");
        QVERIFY(planOpening({folder}, false, importFolder()).target != before);
    }

    /// What the collector wrote is offered by the dialog and opens when it is dropped; it is a recording.
    void aSpoolOpens()
    {
        if (!QFile::exists(commandLineProgram())) QSKIP("fourwalls-cli is not part of this build");
        const QString source = in(QStringLiteral("node0-100-rank0.fwspool"));
        {
            importers::test::SpoolSample spool(source.toStdString(), 0, 1);
            spool.launch("gemm", 10, 20, 30);
        }
        Settings settings(Settings::Kind::Forgetful);
        MainWindow window(opener(), settings);
        for (QAction* action : window.allActions())
            if (action->objectName() == QLatin1String("file.open")) action->trigger();
        auto* dialog = window.findChild<QFileDialog*>();
        QVERIFY(dialog && dialog->nameFilters().constFirst().contains(QStringLiteral("*.fwspool")));
        dialog->reject();
        QMimeData mime;
        mime.setUrls({QUrl::fromLocalFile(source)});
        QDragEnterEvent enter(QPoint(50, 50), Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(&window, &enter);
        QDropEvent drop(QPointF(50, 50), Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(&window, &drop);
        QVERIFY(drop.isAccepted());
        QTRY_VERIFY_WITH_TIMEOUT(window.currentDocument() && window.currentDocument()->isOpen(), 60'000);
        const TraceInfo& info = window.currentDocument()->session()->info();
        QCOMPARE(info.header.source, TraceSource::Recorded);
        QCOMPARE(info.header.producer, std::string("Fourwalls collector 0.1.0 in python3"));
        QVERIFY(info.counts.slices >= 2);
    }

    /// A cancelled import leaves nothing open and nothing half-written.
    void anImportCanBeCancelled()
    {
        if (!QFile::exists(commandLineProgram())) QSKIP("fourwalls-cli is not part of this build");
        QByteArray events = "[";
        while (events.size() < 80'000'000)
            events += R"({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":)" +
                      QByteArray::number(events.size()) + R"(,"dur":3},)";
        const QString source = made(QStringLiteral("large.json"), events + "{}]");
        Settings settings(Settings::Kind::Forgetful);
        MainWindow window(opener(), settings);
        window.show();
        window.openFiles({source});
        QTRY_VERIFY_WITH_TIMEOUT(window.findChild<QDialog*>(QStringLiteral("import")), 20'000);
        QPointer<QDialog> dialog = window.findChild<QDialog*>(QStringLiteral("import"));
        QVERIFY(dialog->findChild<QProgressBar*>());
        dialog->findChild<QPushButton*>()->click();
        QTRY_VERIFY_WITH_TIMEOUT(!dialog, 60'000);
        QVERIFY(window.documents().isEmpty());
        QDirIterator left(importFolder(), QDir::Files | QDir::Hidden, QDirIterator::Subdirectories);
        QVERIFY2(!left.hasNext(), qPrintable(left.next()));
    }

    void whatCannotBeImportedIsOneSentence()
    {
        if (!QFile::exists(commandLineProgram())) QSKIP("fourwalls-cli is not part of this build");
        Settings settings(Settings::Kind::Forgetful);
        MainWindow window(opener(), settings);
        window.show();
        window.openFiles({made(QStringLiteral("notes.txt"),
                               "just a text\nwith two lines, long enough to be looked at closely by anybody")});
        QTRY_VERIFY_WITH_TIMEOUT(window.findChild<QDialog*>(QStringLiteral("import")), 20'000);
        auto* dialog = window.findChild<QDialog*>(QStringLiteral("import"));
        const auto said = [dialog] {
            QString text;
            for (const QLabel* label : dialog->findChildren<QLabel*>()) text += label->text() + QLatin1Char('\n');
            return text;
        };
        QTRY_VERIFY_WITH_TIMEOUT(said().contains(QStringLiteral("none of the formats that can be imported")), 60'000);
        QVERIFY(!said().contains(QStringLiteral("fourwalls-cli import:")));
        QVERIFY(window.documents().isEmpty());
        dialog->reject();
        const Result<QString> direct = importedTrace(in(QStringLiteral("notes.txt")));
        QVERIFY(!direct.ok());
        QVERIFY(direct.error().what.find("none of the formats") != std::string::npos);
        QCOMPARE(*importedTrace(in(QStringLiteral("missing.json"))), in(QStringLiteral("missing.json")));
    }
};

FOURWALLS_TEST(TestForeignFiles, QApplication)

} // namespace tst_foreign_files

#include "tst_foreign_files.moc"
