// SPDX-License-Identifier: GPL-3.0-or-later
// See hang_page.h.
#include "views/hang/hang_page.h"

#include "views/chrome/message_page.h"
#include "views/hang/hang_chain.h"
#include "views/hang/hang_matrix_plot.h"
#include "views/hang/hang_words.h"
#include "views/plot/plot_card.h"
#include "views/plot/theme.h"
#include "views/words/format.h"

#include <QCheckBox>
#include <QClipboard>
#include <QEvent>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QSplitter>
#include <QStackedWidget>
#include <QVBoxLayout>

namespace fourwalls::views {

namespace {

/// Above this, ranks that came equally far are one row at first.
constexpr std::size_t kMostSingleRows = 32;
constexpr std::size_t kMostSentences = 3;

QLabel* plainLabel(QWidget* parent)
{
    auto* label = new QLabel(parent);
    label->setWordWrap(true);
    label->setTextFormat(Qt::PlainText); // names come from dumps
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    return label;
}

} // namespace

HangPage::HangPage(QWidget* parent)
    : QWidget(parent)
    , m_stack(new QStackedWidget(this))
    , m_empty(new MessagePage(m_stack))
    , m_openFolder(m_empty->addButton({}, true))
    , m_openFiles(m_empty->addButton({}))
    , m_content(makeContent())
{
    m_stack->addWidget(m_empty);
    m_stack->addWidget(m_content);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(m_stack);
    connect(m_openFolder, &QPushButton::clicked, this, &HangPage::folderRequested);
    connect(m_openFiles, &QPushButton::clicked, this, &HangPage::filesRequested);
    connect(m_matrix, &HangMatrixPlot::rankChosen, this, &HangPage::chooseRank);
    connect(m_fold, &QCheckBox::toggled, this, [this](bool folded) {
        if (m_report) m_matrix->setRows(hangRows(*m_report, folded));
    });
    connect(m_copy, &QPushButton::clicked, this, [this] { QGuiApplication::clipboard()->setText(asText()); });
    retranslate();
}

QWidget* HangPage::makeContent()
{
    auto* content = new QWidget(m_stack);
    auto* verdict = new PlotCard(content);
    m_headline = plainLabel(verdict);
    m_verdict = plainLabel(verdict);
    m_detail = plainLabel(verdict);
    m_copy = new QPushButton(verdict);
    auto* head = new QWidget(verdict);
    auto* row = new QHBoxLayout(head);
    row->setContentsMargins(0, 0, 0, 0);
    row->addWidget(m_headline, 1);
    row->addWidget(m_copy, 0, Qt::AlignTop);
    verdict->title().hide();
    verdict->finding().hide();
    for (QWidget* each : {head, static_cast<QWidget*>(m_verdict), static_cast<QWidget*>(m_detail)})
        verdict->addContent(each);

    m_matrixCard = new PlotCard(content);
    m_matrix = new HangMatrixPlot(m_matrixCard);
    m_fold = new QCheckBox(m_matrixCard);
    m_matrixCard->addControl(m_fold);
    m_matrixCard->addContent(m_matrix, 1);
    m_legend = new PlotLegend(m_matrixCard);
    m_matrixCard->addContent(m_legend);
    m_chainCard = new PlotCard(content);
    auto* scroll = new QScrollArea(m_chainCard);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_chain = new HangChain(scroll);
    scroll->setWidget(m_chain);
    scroll->viewport()->setAutoFillBackground(false);
    m_chain->setAutoFillBackground(false);
    m_chainCard->addContent(scroll, 1);
    m_stackCard = new PlotCard(content);
    m_text = new QPlainTextEdit(m_stackCard);
    m_text->setReadOnly(true);
    m_text->setFrameShape(QFrame::NoFrame);
    m_text->setFont(fontOf(TextRole::Mono));
    m_text->setMinimumHeight(60);
    m_stackCard->addContent(m_text, 1);

    QSplitter* across = cardSplitter(Qt::Horizontal, content);
    across->addWidget(m_matrixCard);
    across->addWidget(m_chainCard);
    across->setStretchFactor(0, 3);
    across->setStretchFactor(1, 1);
    across->setSizes({3000, 1100});
    QSplitter* down = cardSplitter(Qt::Vertical, content);
    down->addWidget(across);
    down->addWidget(m_stackCard);
    down->setStretchFactor(0, 4);
    down->setStretchFactor(1, 1);
    down->setSizes({3000, 900});
    auto* column = new QVBoxLayout(content);
    column->setContentsMargins(kGap, kGap, kGap, kGap);
    column->setSpacing(kGap);
    column->addWidget(verdict);
    column->addWidget(down, 1);
    return content;
}

void HangPage::setReport(const QString& name, std::shared_ptr<const diagnose::HangReport> report)
{
    m_isReading = false;
    m_problem.reset();
    m_name = name;
    m_report = std::move(report);
    m_rank.reset();
    for (const diagnose::HangSuspect& each : m_report->suspects)
        if (!m_rank || (!each.stack.empty() && m_report->stacks.count(*m_rank) == 0)) m_rank = each.rank;
    if (!m_rank && !m_report->sets.empty()) m_rank = m_report->sets.front().ranks.front();
    {
        const QSignalBlocker quiet(m_fold);
        m_fold->setChecked(m_report->ranks.size() > kMostSingleRows);
    }
    m_matrix->setRows(hangRows(*m_report, m_fold->isChecked()));
    m_chain->setReport(*m_report);
    showReport();
}

void HangPage::setProblem(const Error& error)
{
    m_isReading = false;
    m_report.reset();
    m_problem = error;
    showReport();
}

void HangPage::setReading(const QString& name)
{
    m_isReading = true;
    m_report.reset();
    m_problem.reset();
    m_name = name;
    showReport();
}

void HangPage::chooseRank(int rank)
{
    m_rank = rank;
    m_matrix->setChosen(rank);
    showStack();
}

QString HangPage::headline() const
{
    const auto named = static_cast<int>(m_report->suspects.size());
    const QString ranks = tr("%n rank(s)", nullptr, static_cast<int>(m_report->ranks.size()));
    const QString job = QStringLiteral("%1 \u00b7 %2").arg(m_name, ranks);
    if (named > 0) return tr("%1: the job hangs because of %n of them", nullptr, named).arg(job);
    if (!m_report->sets.empty()) return tr("%1: the job hangs, and the dumps leave a choice of who is why").arg(job);
    return tr("%1: no operation waits for one of them").arg(job);
}

QString HangPage::asText() const
{
    if (!m_report) return {};
    QStringList lines{headline()};
    for (const diagnose::HangSuspect& each : m_report->suspects)
        lines << QStringLiteral("%1 (%2)").arg(suspectSentence(each), confidenceWords(each.confidence));
    for (const diagnose::HangSet& each : m_report->sets) lines << setSentence(each);
    for (const diagnose::HangWaiting& each : m_report->chain) lines << waitSentence(each);
    for (const diagnose::RasNote& each : m_report->ras) lines << rasSentence(each);
    return lines.join(QLatin1Char('\n')) + QLatin1Char('\n');
}

void HangPage::showReport()
{
    if (!m_report) {
        if (m_problem)
            m_empty->showError(tr("These dumps could not be read"), *m_problem);
        else if (m_isReading)
            m_empty->showText(tr("Reading %1…").arg(m_name), {});
        else
            m_empty->showText(
                tr("Which rank hung the job"),
                tr("Drop the folder with the dumps of PyTorch's flight recorder here: one file for each "
                   "rank, pickle or "
                   "JSON, and stacks of py-spy or faulthandler beside them (stack_3.txt). Nothing in "
                   "them is executed.\n\n"
                   "PyTorch writes dumps when a collective runs into its timeout, if the job was started with "
                   "TORCH_NCCL_DUMP_ON_TIMEOUT=1, TORCH_FR_BUFFER_SIZE=2000 and TORCH_FR_DUMP_TEMP_FILE=dumps/_dump_"));
        m_openFolder->setEnabled(!m_isReading);
        m_openFiles->setEnabled(!m_isReading);
        m_stack->setCurrentWidget(m_empty);
        return;
    }
    const Theme& theme = currentTheme();
    m_legend->setEntries({{PlotLegend::Mark::Area, finishedColour(theme), tr("finished")},
                          {PlotLegend::Mark::Area, theme.communication, tr("entered, not finished")},
                          {PlotLegend::Mark::Dashed, theme.error, tr("not entered")}});
    const auto ink = [](QLabel* label, const QColor& colour) {
        QPalette palette = label->palette();
        palette.setColor(QPalette::WindowText, colour);
        label->setPalette(palette);
    };
    m_headline->setFont(fontOf(TextRole::Title));
    QFont large = fontOf(TextRole::Title);
    large.setPixelSize(18);
    m_verdict->setFont(large);
    ink(m_headline, theme.secondaryText);
    ink(m_verdict, theme.text);
    ink(m_detail, theme.secondaryText);
    m_headline->setText(headline());
    QStringList verdict, detail;
    for (const diagnose::HangSuspect& each : m_report->suspects) {
        if (static_cast<std::size_t>(verdict.size()) == kMostSentences) break;
        verdict << suspectSentence(each);
    }
    if (m_report->suspects.size() > kMostSentences)
        verdict << tr("And %n more, below.", nullptr, static_cast<int>(m_report->suspects.size() - kMostSentences));
    for (const diagnose::HangSet& each : m_report->sets) {
        if (static_cast<std::size_t>(verdict.size()) > kMostSentences) break;
        verdict << setSentence(each);
    }
    for (const diagnose::HangWaiting& each : m_report->chain) {
        if (static_cast<std::size_t>(detail.size()) == kMostSentences) break;
        detail << waitSentence(each);
    }
    if (!m_report->unreadable.empty()) detail << tr("Damaged dumps: %1.").arg(rankWords(m_report->unreadable));
    if (m_report->contradictingGroups > 0)
        detail << tr("The dumps do not agree on who is in %n group(s): are they of one job?", nullptr,
                     static_cast<int>(m_report->contradictingGroups));
    for (std::size_t i = 0; i < std::min(kMostSentences, m_report->ras.size()); ++i)
        detail << rasSentence(m_report->ras[i]) + '.';
    if (m_report->ras.size() > kMostSentences)
        detail << tr("More of NCCL RAS, copied as text: %1.").arg(m_report->ras.size() - kMostSentences);
    if (const QString advice = hangAdvice(*m_report); !advice.isEmpty()) detail << advice;
    m_verdict->setText(verdict.join(QLatin1Char(' ')));
    m_verdict->setVisible(!verdict.isEmpty());
    m_detail->setText(detail.join(QLatin1Char('\n')));
    m_detail->setVisible(!detail.isEmpty());
    const HangRows& rows = m_matrix->rows();
    m_matrixCard->finding().setText(
        rows.columns.empty() ? tr("no group has an open operation")
                             : tr("rows: ranks · columns: the last operations of each kind of group, newest right"));
    m_chainCard->setVisible(!m_report->chain.empty() || !m_report->suspects.empty() || !m_report->sets.empty());
    if (m_rank) m_matrix->setChosen(*m_rank);
    showStack();
    m_stack->setCurrentWidget(m_content);
}

void HangPage::showStack()
{
    if (!m_report) return;
    if (!m_rank) {
        m_stackCard->title().setText(tr("Stack"));
        m_text->setPlainText(m_report->stacks.empty() ? tr("No stacks lie beside the dumps.")
                                                      : tr("Choose a rank above."));
        return;
    }
    m_stackCard->title().setText(tr("Stack of rank %1").arg(*m_rank));
    QString text;
    for (const diagnose::HangSuspect& each : m_report->suspects)
        if (each.rank == *m_rank)
            text += QStringLiteral("%1 (%2)\n\n").arg(suspectSentence(each), confidenceWords(each.confidence));
    const auto found = m_report->stacks.find(*m_rank);
    text += found == m_report->stacks.end() ? tr("No stack of this rank lies beside the dumps. py-spy dump --pid PID > "
                                                 "stack_%1.txt makes one while the job hangs.")
                                                  .arg(*m_rank)
                                            : QString::fromStdString(found->second);
    m_text->setPlainText(text);
}

void HangPage::retranslate()
{
    m_openFolder->setText(tr("Open a folder of dumps…"));
    m_openFiles->setText(tr("Open dumps…"));
    m_copy->setText(tr("Copy as text"));
    m_fold->setText(tr("Fold equal ranks"));
    m_fold->setToolTip(tr("Ranks that came equally far in every group are one row."));
    m_matrixCard->title().setText(tr("Who is where"));
    m_chainCard->title().setText(tr("Who waits for whom"));
    if (m_report) {
        m_chain->setReport(*m_report);
        m_matrix->viewport()->update();
    }
    showReport();
}

void HangPage::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::LanguageChange) retranslate();
    if (event->type() == QEvent::PaletteChange) showReport();
}

} // namespace fourwalls::views
