// SPDX-License-Identifier: GPL-3.0-or-later
// See findings_view.h.
#include "views/findings/findings_view.h"

#include "model/diagnose/finding_remedy.h"
#include "views/plot/plot_card.h"
#include "views/session/go_to.h"
#include "views/whatif/gain_line.h"
#include "views/whatif/what_if.h"
#include "views/words/finding_words.h"
#include "views/words/format.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>

#include <algorithm>

namespace fourwalls::views {

namespace {

constexpr int kGainWidth = 220, kGainHeight = 8;

/// How much of the step a finding costs, as a bar: what it would gain, of the largest one.
class GainBar : public QWidget {
public:
    GainBar(double share, double most, QWidget* parent) : QWidget(parent), m_share(share), m_most(most)
    {
        setFixedSize(kGainWidth, kGainHeight);
    }

protected:
    void paintEvent(QPaintEvent*) override
    {
        QPainter painter(this);
        const Theme& theme = currentTheme();
        painter.fillRect(rect(), theme.line);
        const int width = m_most > 0 ? qRound(this->width() * std::clamp(m_share / m_most, 0.0, 1.0)) : 0;
        painter.fillRect(QRect(0, 0, std::max(width, m_share > 0 ? 2 : 0), height()), theme.accent);
    }

private:
    double m_share, m_most;
};

QLabel* paragraph(const QString& text, TextRole role, const QColor& color, QWidget* parent)
{
    auto* label = new QLabel(text, parent);
    label->setWordWrap(true);
    label->setFont(fontOf(role));
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    QPalette palette = label->palette();
    palette.setColor(QPalette::WindowText, color);
    label->setPalette(palette);
    return label;
}

QString csvText(QString text)
{
    return QLatin1Char('"') + text.replace(QLatin1Char('"'), QLatin1String("\"\"")) + QLatin1Char('"');
}

} // namespace

FindingsView::FindingsView(QWidget* parent)
    : View(parent)
    , m_content(new QWidget(this))
    , m_summary(new ElidedText(ElidedText::Tone::Title, Qt::AlignLeft, m_content))
    , m_scroll(new QScrollArea(m_content))
{
    QVBoxLayout* column = fillWith(m_content);
    m_summary->setMostLines(2);
    column->addWidget(m_summary);
    m_scroll->setWidgetResizable(true);
    m_scroll->setFrameShape(QFrame::NoFrame);
    m_scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_scroll->setAccessibleName(tr("List of findings"));
    column->addWidget(m_scroll, 1);
    m_content->hide();
}

bool FindingsView::showsFinalData() const
{
    return session() && session()->isOpen() && !m_pending && (m_diagnosis || !emptyReason().isEmpty()) &&
           std::none_of(m_gains.begin(), m_gains.end(), [](const GainLine* line) { return line->isPending(); });
}

QString FindingsView::emptyReason() const
{
    if (!session() || !selection()) return tr("Open or record a trace to see what is wrong with it.");
    if (!m_error.isEmpty()) return tr("The findings of this trace could not be worked out. %1").arg(m_error);
    return {};
}

void FindingsView::traceChanged()
{
    m_diagnosis.reset();
    m_gains.clear();
    m_error.clear();
    m_pending = false;
    m_content->hide();
    if (!session() || !selection()) return;
    connect(selection(), &Selection::stepChanged, this, &FindingsView::ask);
    if (session()->isOpen())
        ask();
    else
        connect(session(), &TraceSession::opened, this, &FindingsView::ask);
}

void FindingsView::showEvent(QShowEvent* event)
{
    View::showEvent(event);
    ask();
}

void FindingsView::ask()
{
    if (!isVisible() || !session() || !selection() || !session()->isOpen()) return;
    if ((m_diagnosis || m_pending) && m_step == selection()->step()) return;
    m_pending = true;
    m_step = selection()->step();
    session()->ask<diagnose::Diagnosis>(
        this, "findings",
        [step = m_step](TraceQuery& trace, std::stop_token stop) { return diagnose::diagnose(trace, stop, step); },
        [this, asked = session()](const Answer<diagnose::Diagnosis>& answer) {
            if (session() != asked) return; // of a trace that was replaced meanwhile
            m_pending = false;
            m_error.clear();
            if (answer.ok())
                m_diagnosis = answer.value;
            else
                m_error = QString::fromStdString(answer.error.message());
            showAll();
            update();
        },
        Urgency::Background);
}

QString FindingsView::summary() const
{
    const auto faults = std::count_if(m_diagnosis->findings.begin(), m_diagnosis->findings.end(),
                                      [](const diagnose::Finding& each) { return isFault(each.cause); });
    const auto costs = static_cast<std::ptrdiff_t>(m_diagnosis->findings.size()) - faults;
    if (m_diagnosis->findings.empty()) return nothingFound(*m_diagnosis);
    QString text = faults > 0 ? tr("%n thing(s) wrong with this run", nullptr, static_cast<int>(faults))
                              : tr("Nothing is wrong with this run");
    if (costs > 0)
        text += QStringLiteral(" · ") + tr("%n cost(s) of its plan and program", nullptr, static_cast<int>(costs));
    if (m_diagnosis->replayError)
        text += QStringLiteral(" · ") +
                tr("unchanged, its replay is %1 off").arg(formatPercent(*m_diagnosis->replayError / 100, 2));
    return text;
}

GainLine* FindingsView::gainLineOf(const diagnose::Finding& finding, QWidget* parent)
{
    if (finding.gain && finding.gain->source == diagnose::GainSource::Replay) return nullptr;
    const std::string remedy = diagnose::remedyOf(finding);
    if (remedy.empty() || !whatIf()) return nullptr;
    auto* line = new GainLine(parent);
    line->setReplayer(&whatIf()->replayer());
    AskedGain asked = AskedGain::of(remedy);
    if (finding.gain) asked.most = finding.gain->share;
    line->ask(std::vector{asked});
    connect(line, &GainLine::changed, this, [this] { update(); });
    m_gains.push_back(line);
    return line;
}

QWidget* FindingsView::cardOf(std::size_t index)
{
    const diagnose::Finding& finding = m_diagnosis->findings[index];
    const Theme& theme = currentTheme();
    auto* card = new PlotCard(m_list);
    card->title().setText(findingTitle(finding));
    card->finding().setText(finding.gain ? findingGain(finding) : whyNoGain(finding));
    auto* body = new QWidget(card);
    auto* row = new QHBoxLayout(body);
    row->setContentsMargins(0, 0, 0, 0);
    auto* texts = new QVBoxLayout;
    if (finding.gain) {
        double most = 0;
        for (const diagnose::Finding& each : m_diagnosis->findings)
            if (each.gain) most = std::max(most, each.gain->share);
        texts->addWidget(new GainBar(finding.gain->share, most, body));
    }
    texts->addWidget(paragraph(findingFigures(finding), TextRole::Body, theme.text, body));
    if (const QString advice = findingAdvice(finding); !advice.isEmpty())
        texts->addWidget(paragraph(advice, TextRole::Small, theme.secondaryText, body));
    if (GainLine* line = gainLineOf(finding, body)) texts->addWidget(line);
    row->addLayout(texts, 1);
    auto* button = new QPushButton(tr("Show"), body);
    button->setToolTip(tr("Opens the view that shows it, at that place"));
    button->setAccessibleName(tr("Show") + QStringLiteral(": ") + findingTitle(finding));
    connect(button, &QPushButton::clicked, this, [this, index] { open(index); });
    row->addWidget(button, 0, Qt::AlignTop);
    card->addContent(body);
    return card;
}

QWidget* FindingsView::untoldCard()
{
    auto* card = new PlotCard(m_list);
    card->title().setText(tr("What this trace cannot tell"));
    QStringList lines;
    for (const diagnose::Abstention& each : m_diagnosis->abstained) lines << untold(each);
    lines.removeDuplicates();
    card->addContent(paragraph(lines.join(QLatin1Char('\n')), TextRole::Body, currentTheme().secondaryText, card));
    return card;
}

void FindingsView::showAll()
{
    if (!m_diagnosis) return;
    m_summary->setText(summary());
    m_gains.clear();
    m_list = new QWidget;
    auto* column = new QVBoxLayout(m_list);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(8);
    for (std::size_t i = 0; i < m_diagnosis->findings.size(); ++i) column->addWidget(cardOf(i));
    if (!m_diagnosis->abstained.empty()) column->addWidget(untoldCard());
    column->addStretch(1);
    // Not at once: a change of theme goes through all widgets, and a button may be the sender.
    if (QWidget* before = m_scroll->takeWidget()) {
        before->hide();
        before->deleteLater();
    }
    m_scroll->setWidget(m_list);
    m_content->show();
}

void FindingsView::open(std::size_t index)
{
    if (!m_diagnosis || !selection() || index >= m_diagnosis->findings.size()) return;
    const diagnose::Finding& finding = m_diagnosis->findings[index];
    goTo(*selection(), finding.show.rank, finding.show.range, findingView(finding));
}

QString FindingsView::tableAsCsv() const
{
    if (!m_diagnosis) return {};
    QString text =
        tr("finding") + QLatin1Char(',') + tr("gain") + QLatin1Char(',') + tr("evidence") + QLatin1Char('\n');
    for (const diagnose::Finding& each : m_diagnosis->findings)
        text += csvText(findingTitle(each)) + QLatin1Char(',') + csvText(findingGain(each)) + QLatin1Char(',') +
                csvText(findingFigures(each)) + QLatin1Char('\n');
    return text;
}

void FindingsView::themeChanged()
{
    showAll();
    update();
}

void FindingsView::languageChanged()
{
    m_scroll->setAccessibleName(tr("List of findings"));
    showAll();
}

void FindingsView::paintEvent(QPaintEvent* event)
{
    View::paintEvent(event);
    if (!m_diagnosis) return paintWithoutContent();
    reportFrame(selection() ? selection()->range() : TimeRange{}, FrameQuality::Full);
}

} // namespace fourwalls::views
