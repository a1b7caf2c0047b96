"""The words from which posts are made: for each language, patterns and what may stand in their gaps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    code: str
    right_to_left: bool = False
    #: What stands between two sentences.
    gap: str = " "
    #: How many sentences carry about as many bytes as one English sentence.
    density: float = 1.0
    names: tuple[str, ...]
    authors: tuple[str, ...]
    titles: tuple[str, ...]
    sentences: tuple[str, ...]
    #: Opens the paragraph that an edit adds.
    correction: str
    tags: tuple[str, ...]
    gaps: Mapping[str, tuple[str, ...]]


ENGLISH = Vocabulary(
    code="en",
    names=(
        "Slow Tide",
        "Paper Lantern",
        "Stone & Fern",
        "The Back Gate",
        "Copper Kettle",
        "Low Cloud",
        "Window Seat",
        "North Path",
        "Blue Thread",
        "Small Hours",
        "Orchard Row",
        "Quiet Signal",
    ),
    authors=("the ferry hand", "Heron", "a night walker", "Wren", "the map mender", "Moss"),
    titles=(
        "What the {thing} taught us {when}",
        "Notes from {place}",
        "{Place}, {when}",
        "Mending a {thing} by hand",
        "A {thing}, a {other} & a free afternoon",
        "Why we still keep the {adjective} {thing}",
        "Looking for the {adjective} {other} near {place}",
        "Ten minutes with a {thing} ✨",
    ),
    sentences=(
        "The {thing} near {place} was {adjective} again {when}.",
        "We carried the {other} to {place} and found the {thing} waiting.",
        "Nobody had touched the {adjective} {other} since the first frost.",
        "It takes patience to set a {thing} beside a {adjective} {other}.",
        "From {place} you can hear the {other} long before you see it.",
        "The trick is to leave the {thing} alone {when} and to come back with fresh eyes.",
        "A {adjective} {thing} is worth more than a new one, as long as it still holds.",
        "Somebody had left a {other} at {place}, with a note about the {thing}.",
        "We measured the {thing} twice and still cut the {other} too short.",
        "By the time we reached {place}, the {other} had turned {adjective}.",
        "There is more than one way to carry a {thing}, and {place} shows most of them.",
        "Rain came over {place} {when}, and the {thing} shone like glass 🌧️.",
    ),
    correction="Correction: the {thing} stood at {place}, not beside the {other}.",
    tags=("craft", "weather", "walking", "repair", "garden", "sea", "maps", "bread"),
    gaps={
        "thing": (
            "lantern",
            "rowing boat",
            "weather vane",
            "garden wall",
            "bicycle bell",
            "sourdough",
            "tide table",
            "telescope",
            "wooden ladder",
            "rain barrel",
            "pocket map",
            "bee hotel",
        ),
        "other": (
            "rope",
            "kettle",
            "sparrow",
            "signal flag",
            "compass",
            "apple crate",
            "notebook",
            "brass hinge",
            "seed tray",
            "wool coat",
            "fog horn",
            "candle",
        ),
        "place": (
            "the old pier",
            "the upper meadow",
            "the reading room",
            "the lock gates",
            "the east stairs",
            "the mill pond",
            "the bicycle shed",
            "the lighthouse door",
            "the market arch",
            "the bend in the river",
        ),
        "adjective": (
            "crooked",
            "patient",
            "salt-white",
            "humble",
            "freshly oiled",
            "borrowed",
            "silent",
            "weathered",
            "stubborn",
            "sunlit",
        ),
        "when": (
            "before sunrise",
            "after the rain",
            "on the longest day",
            "at low tide",
            "late in the week",
            "between two storms",
            "in the first frost",
            "at the turn of the season",
        ),
    },
)

CHINESE = Vocabulary(
    code="zh",
    gap="",
    density=1.2,
    names=("青石巷", "慢火", "窗边", "北坡小径", "纸灯笼", "半亩田", "雨后", "旧船坞"),
    authors=("夜航人", "白鹭", "修伞人", "山雀", "守灯的人"),
    titles=(
        "{when},{place}的{thing}",
        "修好一只{adjective}{thing}",
        "从{place}带回来的{other}",
        "{thing}与{other}",
        "为什么我们还留着{adjective}{other} 🍵",
        "在{place}坐了一个下午",
    ),
    sentences=(
        "{when},{place}的{thing}还是那样{state}。",
        "我们把{other}搬到{place},才发现{thing}早已等在那里。",
        "这{adjective}{other}从去年冬天起就没有人动过。",
        "要把{thing}放稳,先得有耐心,再找一只{adjective}{other}垫着。",
        "站在{place},不用抬头就能听见{other}的声音。",
        "窍门是{when}先把{thing}放一放,回来再看就明白了。",
        "有人在{place}留下一只{other},旁边的纸条写着{thing}的用法。",
        "量了两遍{thing},还是把{other}裁短了一点。",
        "等我们走到{place},{thing}已经变得{state}。",
        "雨从{place}那边过来,{other}亮得像一面镜子🌧️。",
    ),
    correction="更正:{thing}其实在{place},不在{other}旁边。",
    tags=("手艺", "天气", "散步", "修理", "茶", "河流", "地图", "读书"),
    gaps={
        "thing": ("灯笼", "小木船", "风向标", "竹梯", "水缸", "望远镜", "旧地图", "砂锅", "算盘", "油纸伞"),
        "other": ("麻绳", "茶壶", "麻雀", "铜铃", "罗盘", "果筐", "笔记本", "种子盘", "棉袄", "蜡烛"),
        "place": (
            "老码头",
            "上坡的草地",
            "阅览室",
            "水闸边",
            "东楼梯",
            "磨坊池塘",
            "车棚",
            "灯塔门口",
            "集市牌楼",
            "河湾",
        ),
        "adjective": ("歪歪的", "借来的", "刚上过油的", "旧旧的", "安静的", "晒得发白的"),
        "state": ("安静", "明亮", "倔强", "温和", "潮湿", "整齐"),
        "when": ("日出之前", "雨停以后", "夏至那天", "退潮的时候", "周末傍晚", "初霜的早晨", "换季的时候"),
    },
)

GERMAN = Vocabulary(
    code="de",
    names=("Große Pause", "Später Föhn", "Über den Dächern", "Hinterm Gärtchen"),
    authors=("die Fährfrau", "Zaunkönig", "der Uhrensteller"),
    titles=("{when} an {place}", "Über {thing} und {other}", "Warum {thing} uns überdauern"),
    sentences=(
        "{when} lagen {thing} wieder an {place}.",
        "Wir trugen {other} hinüber und fanden {thing} schon bereit.",
        "Niemand hatte {other} seit dem ersten Frost berührt, und das war gut so.",
        "Wer {thing} flickt, braucht Geduld, Wärme und ein paar {other}.",
        "An {place} hört man {other}, lange bevor man sie sieht.",
        "Für {thing} nimmt man sich besser einen ganzen Nachmittag.",
    ),
    correction="Berichtigung: Es waren {other}, nicht {thing}.",
    tags=("Handwerk", "Wetter", "Gärten", "Brücken"),
    gaps={
        "thing": ("Laternen", "Ruderboote", "Gartenmauern", "Fahrradklingeln", "Landkarten", "Fernrohre"),
        "other": ("Seile", "Kessel", "Äpfel", "Glöckchen", "Bücher", "Messingscharniere"),
        "place": ("der alten Mole", "der oberen Wiese", "der Schleuse", "der Brücke", "dem Mühlteich"),
        "when": (
            "Vor Sonnenaufgang",
            "Nach dem Regen",
            "Bei Ebbe",
            "Am längsten Tag",
            "Zwischen zwei Stürmen",
        ),
    },
)

FRENCH = Vocabulary(
    code="fr",
    names=("Le fil bleu", "À marée basse", "L’été au grenier", "Côté jardin"),
    authors=("le passeur", "Mésange", "la veilleuse"),
    titles=("{when}, près {place}", "Réparer {thing} à la main", "{when} : {thing} et {other}"),
    sentences=(
        "{when}, nous avons retrouvé {thing} près {place}.",
        "Il a fallu porter {other} jusqu'à l'étage, puis recommencer avec {thing}.",
        "Personne n'avait touché {other} depuis la première gelée.",
        "On entend {other} bien avant d'arriver près {place}.",
        "Le secret, c'est de laisser {thing} tranquille et de revenir plus tard.",
        "Quelqu'un avait déposé {other} là-bas, avec un mot à propos de l'été.",
    ),
    correction="Rectification : nous parlions de {other}, près {place}.",
    tags=("métier", "météo", "forêt", "pain"),
    gaps={
        "thing": ("la lanterne", "la vieille barque", "la girouette", "le mur du jardin", "le télescope"),
        "other": ("la corde", "la bouilloire", "le carnet", "la cloche", "le panier de pommes"),
        "place": ("de la jetée", "du pré d'en haut", "de l'écluse", "de l'étang", "du marché"),
        "when": ("Avant l'aube", "Après la pluie", "À marée basse", "En fin de semaine", "Entre deux orages"),
    },
)

ARABIC = Vocabulary(
    code="ar",
    right_to_left=True,
    density=0.8,
    names=("دفتر المرفأ", "نافذة الشرق", "ظل الزيتون", "قنديل الليل"),
    authors=("حارس الفنار", "الهدهد", "صانع الخرائط"),
    titles=("{thing} عند {place}", "حكاية {thing} و{other}", "{when} عند {place} 🌙"),
    sentences=(
        "{when} وجدنا {thing} عند {place} كما تركناه.",
        "حملنا {other} إلى {place} وجلسنا ننتظر.",
        "لم يلمس أحد {other} منذ أول الشتاء.",
        "من {place} يُسمع {other} قبل أن يُرى.",
        "السر أن تترك {thing} قليلا ثم تعود إليه {when}.",
        "مر المطر فوق {place} فلمع {thing} مثل الزجاج.",
    ),
    correction="تصحيح: كان {thing} عند {place}.",
    tags=("حرفة", "طقس", "بحر", "خرائط"),
    gaps={
        "thing": ("القنديل", "القارب", "السلم الخشبي", "المنظار", "الجدار القديم"),
        "other": ("الحبل", "الإبريق", "الجرس", "الدفتر", "العصفور"),
        "place": ("الرصيف القديم", "باب الفنار", "بركة الطاحونة", "قوس السوق", "منعطف النهر"),
        "when": ("قبل الشروق", "بعد المطر", "عند الجزر", "في آخر الأسبوع"),
    },
)

JAPANESE = Vocabulary(
    code="ja",
    gap="",
    density=0.8,
    names=("坂の途中", "波止場日和", "夜明けの窓", "ひだまり工房"),
    authors=("渡し守", "シラサギ", "傘なおし"),
    titles=("{place}の{thing}", "{when}、{place}にて", "{thing}と{other}のこと"),
    sentences=(
        "{when}、{place}で{thing}を見つけました。",
        "{other}を{place}まで運ぶと、{thing}が待っていました。",
        "初霜のころから、{other}には誰も触れていません。",
        "{place}に立つと、{other}の音が先に聞こえてきます。",
        "{thing}はしばらくそのままにして、{when}にまた見に行きます。",
        "雨あがりの{other}は、ガラスのように光っていました🌈。",
    ),
    correction="訂正:{thing}は{place}にありました。",
    tags=("手仕事", "天気", "散歩", "地図"),
    gaps={
        "thing": ("ちょうちん", "手こぎ舟", "風見鶏", "はしご", "望遠鏡", "雨樽"),
        "other": ("縄", "やかん", "すずめ", "鈴", "羅針盤", "りんご箱"),
        "place": ("古い桟橋", "丘の草地", "閲覧室", "水門", "水車池", "川の曲がり角"),
        "when": ("日の出前", "雨のあと", "干潮のころ", "週の終わり", "季節の変わり目"),
    },
)

LANGUAGES: Mapping[str, Vocabulary] = {
    vocabulary.code: vocabulary for vocabulary in (ENGLISH, CHINESE, GERMAN, FRENCH, ARABIC, JAPANESE)
}
